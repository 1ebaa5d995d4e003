use ctx_format::dialect::Chat;
use ctx_format::{Dialect, Zone};
use ctx_policy::Method;

use super::super::Writer;
use super::super::fixtures::{
    ASK, CALL, DONE, RESULT, SYSTEM, THANKS, answering_model, each, lines, plan, tagged,
};
use super::{BudgetPass, BudgetRequest};
use crate::{ErrorKind, Notes, Result};

fn pass(
    tokens: u64,
    dialect: Option<&'static dyn Dialect>,
    session: &[&str],
) -> Result<(Vec<String>, Vec<Zone>)> {
    let (plan, writer) = (plan(), Writer::offline(Method::Extractive, None));
    let request = BudgetRequest { tokens, ..BudgetRequest::default() };
    let mut pass = BudgetPass::new(&plan, &writer, &request, dialect);
    let mut pushed = Ok(());
    each(session, |record| {
        if pushed.is_ok() {
            pushed = pass.push(record);
        }
    });
    pushed?;
    let (mut new, zones) = pass.finish(&mut Notes::default())?;
    Ok((lines(&mut new), zones))
}

#[test]
fn what_fits_stays_and_loses_only_its_tags() {
    let ask = tagged(r#""zone":"old","end":9"#, ASK);
    let session = [SYSTEM, &ask, CALL, RESULT, "no JSON", DONE];
    let (new, zones) = pass(1_000, Some(&Chat), &session).expect("it fits");
    assert_eq!(new, [SYSTEM, ASK, CALL, RESULT, "no JSON", DONE]);
    assert_eq!(zones[0], Zone::System);
    assert_eq!(zones[1..], [Zone::Keep; 5]);
}

#[test]
fn what_does_not_fit_is_old_and_lines_go_with_the_record_before_them() {
    let long =
        format!(r#"{{"role":"assistant","content":"{} order_17"}}"#, "many words ".repeat(200));
    let session = [SYSTEM, ASK, &long, "{}", THANKS, DONE];
    let (new, zones) = pass(200, Some(&Chat), &session).expect("the rest fits");
    assert_eq!(new[0], SYSTEM);
    assert!(new[1].contains("ctx_summary") && new[1].contains("order_17"), "{new:?}");
    assert_eq!(new[new.len() - 2..], [THANKS, DONE]);
    assert_eq!(zones[2..], [Zone::Old, Zone::Old, Zone::Keep, Zone::Keep]);
}

/// Returns the tokens of the output, counted in the way that a budget counts them.
fn tokens(new: &[String]) -> u64 {
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    let mut tokens = crate::message_counter::PRIMING;
    each(&new, |record| {
        let message = record.message(Some(&Chat)).expect("a message");
        tokens += plan().counter.message(&message).total();
    });
    tokens
}

#[test]
fn what_a_summary_does_not_need_makes_results_longer_and_never_too_long() {
    let rows: Vec<String> = (0..1_500).map(|n| format!("{n} is a row, ")).collect();
    let rows = rows.concat();
    let long = || RESULT.replace("W8123 is shipped", &rows);
    let (first, last) = (long(), long().replace("0 is", "Z is"));
    let session = [ASK, CALL, &first, DONE, THANKS, CALL, &last, DONE];
    for budget in [2_500, 4_200, 5_000, 9_000] {
        let (new, _) = pass(budget, Some(&Chat), &session).expect("the rest fits");
        let used = tokens(&new);
        assert!(used <= budget && used > budget * 97 / 100, "{budget}: {used}");
    }
    // The last result becomes complete before an earlier result gets any longer.
    let (new, _) = pass(9_000, Some(&Chat), &session).expect("the rest fits");
    assert!(new.contains(&last) && !new.contains(&first));
}

#[test]
fn what_a_summary_does_not_need_is_for_more_of_the_latest_messages() {
    let said = |n: u32| format!(r#"{{"role":"user","content":"{}{n}"}}"#, "so and so, ".repeat(40));
    let session: Vec<String> = (0..40).map(said).collect();
    let session: Vec<&str> = session.iter().map(String::as_str).collect();
    let (new, _) = pass(2_000, Some(&Chat), &session).expect("the rest fits");
    let used = tokens(&new);
    assert!(used <= 2_000 && used > 1_850, "{used}: {}", new.len());
}

/// Returns the kept session with a model's summary, and its tokens.
fn by_model(budget: u64, answer: &str, session: &[&str]) -> (Vec<String>, u64) {
    let (model, _server) = answering_model(&[answer]);
    let plan = plan();
    let writer =
        Writer { model: Some(model), completes: true, ..Writer::offline(Method::Extractive, None) };
    let request = BudgetRequest { tokens: budget, ..BudgetRequest::default() };
    let mut pass = BudgetPass::new(&plan, &writer, &request, Some(&Chat));
    each(session, |record| pass.push(record).expect("in memory"));
    let (mut new, _) = pass.finish(&mut Notes::default()).expect("the rest fits");
    let new = lines(&mut new);
    let used = tokens(&new);
    (new, used)
}

#[test]
fn what_a_models_summary_leaves_is_for_a_part_of_the_exchange_before() {
    let rows: Vec<String> = (0..400).map(|n| format!("{n} is a row, ")).collect();
    let long = RESULT.replace("W8123 is shipped", &rows.concat());
    let session: Vec<&str> =
        [ASK].into_iter().chain([CALL, long.as_str(), DONE].into_iter().cycle().take(30)).collect();
    for budget in [1_000, 1_700, 2_500, 3_300] {
        let (new, used) = by_model(budget, "## Goal\nShip the order.", &session);
        assert!(used <= budget && used > budget * 97 / 100, "{budget}: {used}");
        let is_summary = |line: &String| line.contains("Ship the order.");
        assert!(new.iter().any(is_summary), "{new:?}");
    }
}

#[test]
fn what_no_message_takes_is_for_more_values_that_a_model_left_out() {
    let said = |n: u32| {
        let filler = "so it goes. ".repeat(135);
        let parcel = format!("The parcel {n}7{n} is at port 9{n}4{n}. ");
        let barrel = format!("The barrel {n}8{n} is at port 9{n}5{n}. ");
        let crates = format!("The crate {n}9{n} is at port 9{n}6{n}. ");
        format!(r#"{{"role":"user","content":"{filler}{parcel}{barrel}{crates}"}}"#)
    };
    let session: Vec<String> = (10..24).map(said).collect();
    let session: Vec<&str> = session.iter().map(String::as_str).collect();
    let (new, used) = by_model(1_700, "## Goal\nShip the parcels.", &session);
    let (_, list) = new[0].split_once("## Values not named above").expect("a list");
    assert!(list.matches("port").count() > 12, "{list}");
    assert!(used <= 1_700 && used > 1_649, "{used}");
}

#[test]
fn what_cannot_be_shared_out_is_an_error() {
    let error = pass(5, Some(&Chat), &[SYSTEM, ASK]).expect_err("it does not fit");
    assert!(matches!(error.kind, ErrorKind::TooSmall(_)), "{error}");
    let error = pass(5, None, &["no JSON", ASK]).expect_err("no format");
    assert!(matches!(error.kind, ErrorKind::UnknownFormat), "{error}");
    // Lines that are not messages use no tokens.
    let (new, zones) = pass(5, None, &["no JSON"]).expect("no message");
    assert_eq!((new, zones), (vec!["no JSON".to_owned()], vec![Zone::System]));
}

/// Messages that fit stay whole. Before anything is removed, the whole session must be understood.
#[test]
fn what_is_not_understood_is_not_summed_up() {
    let part = r#"{"role":"user","content":[{"type":"smell","of":"roses"}]}"#;
    let (new, _) = pass(1_000, Some(&Chat), &[SYSTEM, part, DONE]).expect("it fits");
    assert_eq!(new, [SYSTEM, part, DONE]);
    let long = format!(r#"{{"role":"user","content":"{}"}}"#, "words ".repeat(200));
    let error = pass(100, Some(&Chat), &[SYSTEM, &long, part, DONE]).expect_err("a part");
    assert!(matches!(error.kind, ErrorKind::Unread { .. }), "{error}");
    assert_eq!(error.lines, [3]);
}
