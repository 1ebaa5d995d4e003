//! The numbered lines that agents write, and how to find them again.

/// The number of lines in an exchange. An agent stops only after a complete exchange.
pub const EXCHANGE: usize = 4;

/// Returns the line with this number: a question, a call, its result and an answer in turn. Some
/// results are so large that tools offload them.
pub fn numbered(number: usize) -> String {
    let words = "and some words more ".repeat(10);
    let id = number / EXCHANGE;
    let record = match number % EXCHANGE {
        0 => format!("\"role\":\"user\",\"content\":\"question {id} {words}\""),
        1 => format!(
            "\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"c{id}\",\"type\":\"function\",\"function\":{{\"name\":\"f\",\"arguments\":\"{{}}\"}}}}]"
        ),
        2 => {
            let result = words.repeat(if id % 16 == 15 { 60 } else { 3 });
            format!("\"role\":\"tool\",\"tool_call_id\":\"c{id}\",\"content\":\"result {result}\"")
        }
        _ => {
            format!("\"role\":\"assistant\",\"content\":\"We decided on answer {id}. {words}\"")
        }
    };
    format!("{{\"n\":{number},{record}}}\n")
}

/// Returns the numbers of lines that an agent wrote but that are in none of the files.
pub fn lost(told: &[usize], files: &[Vec<u8>]) -> Vec<usize> {
    let found: std::collections::HashSet<usize> =
        files.iter().flat_map(|file| numbers(file)).collect();
    let all = told.iter().copied();
    all.filter(|number| !found.contains(number)).collect()
}

/// Returns the numbers of the complete lines in a file. Lines that no agent wrote are skipped.
pub fn numbers(file: &[u8]) -> Vec<usize> {
    let text = String::from_utf8_lossy(file);
    let lines = text.split_inclusive('\n');
    lines
        .filter_map(|line| {
            let rest = line.strip_prefix("{\"n\":")?;
            let number = rest.split(',').next()?.parse().ok()?;
            (line == numbered(number)).then_some(number)
        })
        .collect()
}
