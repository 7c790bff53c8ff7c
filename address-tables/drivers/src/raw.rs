//! A table's file, as it is written.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    pub driver: String,
    pub api: u16,
    pub description: String,
    pub version: [u32; 3],
    pub header: String,
    pub functions: String,
    pub infix: Option<String>,
    pub device: Option<String>,
    pub letter: Option<char>,
    #[serde(default)]
    pub tests: bool,
    pub addresses: super::Addresses,
    #[serde(default)]
    pub processors: Vec<String>,
    pub structs: BTreeMap<String, Vec<String>>,
    pub ioctls: BTreeMap<String, Ioctl>,
    #[serde(default)]
    pub starts: BTreeMap<String, Start>,
}

/// A function that starts jobs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    pub argument: u8,
    pub within: Option<String>,
    pub fields: Vec<String>,
}

/// A line of its ioctls.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ioctl {
    pub number: u32,
    pub access: super::Access,
    pub argument: String,
    pub does: super::Does,
}
