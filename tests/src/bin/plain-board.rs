//! An agent on a board of plain bytes, for tests of the agent itself: no
//! driver, nothing but gil's own code. Ends with its standard input.

use gil_board::server::{Server, ServerOptions};
use gil_fuzz::double::Bytes;
use std::io;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("plain-board ADDR")?.parse()?;
    let options = ServerOptions::default();
    let (server, stopper) = Server::bind(&address, Arc::new(Bytes), options)?;
    println!("listening on {}", server.address());
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        stopper.stop();
    });
    Ok(server.run()?)
}
