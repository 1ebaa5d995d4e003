//! The numbered lines that agents write, and how to find them again.

use super::formats::CHAT;

/// The number of lines in an exchange. An agent stops only after a complete exchange.
pub const EXCHANGE: usize = 4;

/// Returns the chat message with this number.
pub fn numbered(number: usize) -> String {
    CHAT.record(number) + "\n"
}

/// Returns the numbers of lines that an agent wrote but that are in none of the files.
pub fn lost(told: &[usize], files: &[Vec<u8>]) -> Vec<usize> {
    let found: std::collections::HashSet<usize> =
        files.iter().flat_map(|file| numbers(file)).collect();
    let all = told.iter().copied();
    all.filter(|number| !found.contains(number)).collect()
}

/// Returns the numbers of the complete lines of chat messages in a file. Lines that no agent wrote
/// are skipped.
pub fn numbers(file: &[u8]) -> Vec<usize> {
    CHAT.numbers(file)
}
