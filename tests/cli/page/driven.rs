//! The HTML page of ctx-stats in a browser.

use serde_json::{Value, json};

use super::browser::Browser;
use super::{hostile, page, used};

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
const END: &str = "\u{e010}";
const HOME: &str = "\u{e011}";
const LEFT: &str = "\u{e012}";
const RIGHT: &str = "\u{e014}";

const READOUT: &str = "return document.querySelector('.readout').textContent";

/// The focused element, with its class and its text.
const FOCUS: &str = "const e = document.activeElement; return e.tagName + '.' + e.className + ' ' + (e.matches('.wide, .plot') ? '' : e.textContent.trim())";

/// Keys reach all parts of the page in order. They move along the curve, hide a kind and sort a
/// table, without an error in the browser.
#[test]
fn keys_walk_the_page() {
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.open(&page(&used()));
    browser.press(&[TAB]);
    assert_eq!(browser.text(FOCUS), "A.skip Skip to the figures");
    browser.press(&[ENTER]);
    assert_eq!(browser.text("return document.activeElement.id"), "main");
    walk(&browser);
    hide(&browser);
    sort(&browser);
    assert_eq!(browser.log(), Vec::<String>::new());
}

/// Presses Tab until the focus is on the element that `selector` finds.
#[track_caller]
fn tab_to(browser: &Browser, selector: &str) {
    let script = format!("return document.activeElement.matches({})", json!(selector));
    for _ in 0..60 {
        browser.press(&[TAB]);
        if browser.run(&script) == Value::Bool(true) {
            let outline = "return getComputedStyle(document.activeElement).outlineStyle";
            assert_eq!(browser.text(outline), "solid", "the focus is seen");
            return;
        }
    }
    panic!("no key reaches {selector}: {}", browser.text(FOCUS));
}

fn walk(browser: &Browser) {
    tab_to(browser, ".plot");
    browser.press(&[HOME]);
    let first = browser.text(READOUT);
    assert!(first.starts_with("Record 1, line 1: "), "{first}");
    browser.press(&[RIGHT, RIGHT, LEFT]);
    let second = browser.text(READOUT);
    assert!(second.starts_with("Record 2, line 2: "), "{second}");
    browser.press(&[END, RIGHT]);
    let last = browser.text(READOUT);
    let row = "const rows = document.querySelector('.points').tBodies[0].rows; const cells = rows[rows.length - 1].cells; return `The context starts over. Record ${cells[0].textContent}, line ${cells[1].textContent}, ${cells[2].textContent} UTC: ${cells[3].textContent} tokens: `";
    let row = browser.text(row);
    assert!(last.starts_with(&row), "{last} {row}");
    let live = "return document.querySelector('.readout').getAttribute('aria-live')";
    assert_eq!(browser.text(live), "polite");
}

fn hide(browser: &Browser) {
    let total = || {
        let text = browser.text(READOUT);
        let (_, tokens) = text.split_once("UTC: ").expect("a time");
        let (tokens, _) = tokens.split_once(" tokens").expect("a number");
        tokens.replace(',', "").parse::<u64>().expect("a number")
    };
    let drawn = "return document.querySelector('.band[data-kind=results]').getAttribute('d')";
    let (all, band) = (total(), browser.text(drawn));
    browser.run("document.querySelector('.kind[data-kind=results]').focus()");
    browser.press(&[ENTER]);
    let pressed = "return document.activeElement.getAttribute('aria-pressed')";
    assert_eq!(browser.text(pressed), "false");
    let visible =
        "return document.querySelector('.band[data-kind=results]').getAttribute('visibility')";
    assert_eq!(browser.text(visible), "hidden");
    assert!(total() < all);
    browser.press(&[ENTER]);
    assert_eq!((browser.text(pressed).as_str(), total()), ("true", all));
    assert_eq!(browser.text(visible), "visible");
    // The script draws the same chart as the page without a script.
    let numbers = |path: &str| -> Vec<f64> {
        let words = path.split(['M', 'L', 'Z', ' ']).filter(|word| !word.is_empty());
        words.map(|word| word.parse().expect("a number")).collect()
    };
    let (before, after) = (numbers(&band), numbers(&browser.text(drawn)));
    assert_eq!(before.len(), after.len());
    let apart = before.iter().zip(&after).map(|(a, b)| (a - b).abs());
    assert!(apart.fold(0.0, f64::max) <= 0.11);
}

fn sort(browser: &Browser) {
    let column = "const t = [...document.querySelectorAll('table.sortable')].find((t) => t.caption.textContent.includes('by kind')); return [...t.tBodies[0].rows].map((row) => row.cells[1].textContent).join(' ')";
    let heading = "const t = [...document.querySelectorAll('table.sortable')].find((t) => t.caption.textContent.includes('by kind')); t.tHead.rows[0].cells[1].querySelector('button').focus(); return ''";
    let numbers = || -> Vec<u64> {
        let text = browser.text(column).replace(',', "");
        text.split(' ').map(|word| word.parse().expect("a number")).collect()
    };
    let mut sorted = numbers();
    sorted.sort_unstable();
    browser.run(heading);
    browser.press(&[ENTER]);
    assert_eq!(numbers(), sorted.iter().rev().copied().collect::<Vec<_>>());
    let state = "return document.activeElement.parentElement.getAttribute('aria-sort')";
    assert_eq!(browser.text(state), "descending");
    browser.press(&[ENTER]);
    assert_eq!((numbers(), browser.text(state).as_str()), (sorted, "ascending"));
}

/// A transcript is text in the page: it creates no element, nothing runs, and no control character
/// is left.
#[test]
fn a_hostile_session_is_text() {
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.open(&page(&hostile()));
    let elements = "return [...document.querySelectorAll('script, img, b[onclick], iframe, link, object, [onload], [onerror], [style]')].length";
    assert_eq!(browser.run(elements), 1, "our own script");
    let title = "return document.title";
    assert_eq!(browser.text(title), "<b onclick=x>\"'.jsonl: what fills its window");
    let text = browser.text("return document.body.textContent");
    for shown in [
        "<script>alert(1)</script></title></style>",
        "\"><img src=x onerror=alert(2)>",
        "\\u{202e}",
        "\\u{0}",
        "\\u{1b}[2J",
    ] {
        assert!(text.contains(shown), "{shown}");
    }
    let is_bad = |c: &char| c.is_control() && *c != '\n' || ('\u{202a}'..='\u{202e}').contains(c);
    assert_eq!(text.chars().find(is_bad), None);
    assert_eq!(browser.log(), Vec::<String>::new());
    // Even if something got into the page, it could not run, and the browser would report it.
    browser.run("const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)");
    assert_eq!(browser.run("return window.ran === undefined"), true);
    assert!(browser.log().iter().any(|entry| entry.contains("Content Security Policy")));
}

/// The page is light or dark like the system, readable in both, and fits on a phone.
#[test]
fn the_page_is_light_and_dark_wide_and_narrow() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let dir = used();
    let path = page(&dir);
    let mut pages = Vec::new();
    for scheme in ["light", "dark"] {
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        browser.devtools("Emulation.setEmulatedMedia", &json!({"features": [feature]}));
        browser.open(&path);
        let colours = browser.run(COLOURS);
        let all = colours.as_array().expect("a list");
        assert!(all.len() >= 11, "{scheme} {colours}");
        for colour in all {
            let (what, contrast) = (&colour[0], colour[1].as_f64().expect("a number"));
            let least =
                if what == "text" || what == "faint" || what == "accent" { 4.5 } else { 3.0 };
            assert!(contrast >= least, "{scheme} {colour}");
        }
        pages.push(browser.text("return getComputedStyle(document.body).backgroundColor"));
    }
    assert_eq!(pages, ["rgb(255, 255, 255)", "rgb(13, 17, 23)"]);
    for width in [360, 768, 1280] {
        let size = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        browser.devtools("Emulation.setDeviceMetricsOverride", &size);
        browser.open(&path);
        let wider = "const e = document.documentElement; return e.scrollWidth - e.clientWidth";
        assert_eq!(browser.run(wider), 0, "{width}");
    }
    assert_eq!(browser.log(), Vec::<String>::new());
}

/// JavaScript that returns the contrast of each colour of texts and kinds with the page.
const COLOURS: &str = "
const of = (name) => { const e = document.createElement('i'); document.body.append(e); e.style.setProperty('color', `var(--${name})`); const c = getComputedStyle(e).color.match(/\\d+/g).map(Number); e.remove(); return c };
const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 }); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
const page = light(of('page'));
return ['text', 'faint', 'accent', 'cut', 'system', 'summary', 'user', 'assistant', 'reasoning', 'calls', 'results'].map((name) => { const own = light(of(name)); return [name, (Math.max(own, page) + 0.05) / (Math.min(own, page) + 0.05)] })";
