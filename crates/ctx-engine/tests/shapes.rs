//! Shapes of sessions that people have reported as broken, and others of the same kinds. Each line
//! of `shapes.jsonl` is a session with the rules that it violates, and whether it can be repaired.

use std::io::Cursor;

use ctx_engine::check::{CheckPass, Plan, RepairPass};
use ctx_engine::convert::Conversion;
use ctx_engine::{Invalid, Result, Session};
use ctx_format::convert::Converter;
use ctx_format::{Dialect, Options, dialect};
use serde::Deserialize;

#[derive(Deserialize)]
struct Shape {
    name: String,
    text: String,
    /// The violated rules, or the reason why no tool reads the session.
    found: Vec<String>,
    is_repaired: bool,
    /// The model, if it makes a difference.
    model: Option<String>,
}

fn open(bytes: &[u8], dialect: Option<&'static dyn Dialect>) -> Result<Session> {
    let options = Options { dialect, ..Options::default() };
    Session::open(Box::new(Cursor::new(bytes.to_vec())), &options, Invalid::Keep)
}

/// Returns the rules that a session violates.
fn found(
    bytes: &[u8],
    dialect: Option<&'static dyn Dialect>,
    model: Option<&str>,
) -> Result<Vec<String>> {
    let mut session = open(bytes, dialect)?;
    let plan = Plan { all: true, model: model.map(str::to_owned), ..Plan::default() };
    let findings = CheckPass::run(&plan, &mut session)?.findings.into_iter();
    let mut rules: Vec<String> = findings.map(|it| it.rule.to_owned()).collect();
    rules.sort();
    rules.dedup();
    Ok(rules)
}

fn repaired(bytes: &[u8], model: Option<&str>) -> Result<(Vec<u8>, &'static str)> {
    let mut session = open(bytes, None)?;
    let mut pass = RepairPass::new(&mut session, model);
    session.each(|record| pass.push(record))?;
    let copy = pass.finish(false)?;
    Ok((copy.bytes.to_vec(), copy.dialect))
}

fn converted(bytes: &[u8], to: &'static dyn Dialect) -> Result<Vec<u8>> {
    let mut session = open(bytes, None)?;
    let temp = std::env::temp_dir();
    let conversion = Conversion::of(&mut session, Converter::new(to), false, &temp)?;
    let mut written = Vec::new();
    conversion.write_to(&mut written).expect("to memory");
    Ok(written)
}

#[test]
fn each_shape_is_read_repaired_and_converted_as_it_should_be() {
    let mut wrong = Vec::new();
    for line in include_str!("shapes.jsonl").lines() {
        let shape: Shape = serde_json::from_str(line).expect("a shape");
        let bytes = shape.text.as_bytes();
        let name = &shape.name;
        let model = shape.model.as_deref();
        let found_in = found(bytes, None, model).unwrap_or_else(|error| vec![error.to_string()]);
        if found_in != shape.found {
            wrong.push(format!("{name}: found {found_in:?}, not {:?}", shape.found));
        }
        let copy = repaired(bytes, model);
        if copy.is_ok() != shape.is_repaired {
            wrong.push(format!("{name}: repaired: {}", copy.is_ok()));
        }
        if let Ok((copy, dialect)) = copy {
            let left = found(&copy, dialect::by_name(dialect), model).expect("from memory");
            if !left.is_empty() {
                wrong.push(format!("{name}: its repaired copy has {left:?}"));
            }
        }
        for to in dialect::ALL {
            let Ok(written) = converted(bytes, to) else { continue };
            let problems = found(&written, Some(to), None);
            let problems = problems.unwrap_or_else(|error| vec![error.to_string()]);
            if !problems.is_empty() && !written.is_empty() {
                wrong.push(format!("{name}: converted to {}: {problems:?}", to.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
