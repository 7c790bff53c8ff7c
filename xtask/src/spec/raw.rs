//! A description as it stands in the file. No meaning yet.

use serde::Deserialize;
use std::collections::BTreeMap;

/// One `api/*.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawApi {
    pub api: String,
    pub title: String,
    pub number: u16,
    pub header: String,
    #[serde(default)]
    pub vendors_header: bool,
    #[serde(default)]
    pub by_version: bool,
    pub pointers: Option<u32>,
    pub home: Option<String>,
    pub back_end: Option<String>,
    #[serde(default)]
    pub prelude: Vec<String>,
    pub errors: Option<RawErrors>,
    pub current: Option<String>,
    #[serde(default)]
    pub helpers: BTreeMap<String, String>,
    #[serde(default)]
    pub by_hand: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub types: BTreeMap<String, String>,
    #[serde(default)]
    pub handles: BTreeMap<String, RawHandle>,
    #[serde(default)]
    pub structs: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub unions: BTreeMap<String, BTreeMap<String, String>>,
    #[serde(default)]
    pub constants: BTreeMap<String, BTreeMap<String, i64>>,
    #[serde(default)]
    pub queries: BTreeMap<String, BTreeMap<String, String>>,
    #[serde(default)]
    pub call: BTreeMap<String, RawCall>,
    pub dispatch: Option<RawDispatch>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawErrors {
    #[serde(rename = "type")]
    pub ctype: Option<String>,
    pub success: String,
    pub missing: String,
    pub bounds: String,
    pub value: String,
    pub kept: Option<String>,
    pub version: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawHandle {
    pub kind: String,
    pub target: Option<String>,
    #[serde(default)]
    pub constant: bool,
    pub invalid: String,
    pub retain: Option<String>,
    pub release: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawCall {
    pub number: u16,
    pub since: String,
    pub until: Option<String>,
    pub deprecated: Option<String>,
    pub header: Option<String>,
    pub c: Option<String>,
    pub class: Option<String>,
    pub mode: Option<String>,
    pub reference: Option<String>,
    pub same_as: Option<String>,
    #[serde(default)]
    pub internal: bool,
    #[serde(default)]
    pub current: bool,
    #[serde(default)]
    pub around: bool,
    #[serde(default)]
    pub frame: bool,
    #[serde(default)]
    pub differences: bool,
    pub queue: Option<String>,
    pub engine: Option<String>,
    pub blocking: Option<String>,
    pub signals: Option<String>,
    pub returns: Option<String>,
    pub details: Option<String>,
    pub check: Option<String>,
    pub instead: Option<String>,
    pub posts_if: Option<String>,
    pub state: Option<String>,
    pub contents: Option<String>,
    pub label: Option<String>,
    pub selects: Option<String>,
    pub runs: Option<String>,
    pub fails: Option<String>,
    pub wire: Option<Vec<String>>,
    pub reply: Option<Vec<String>>,
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawDispatch {
    #[serde(rename = "type")]
    pub ctype: String,
    pub header: String,
    pub slots: Vec<String>,
}
