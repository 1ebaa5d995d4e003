//! What APIs charge for an image, by its size.
//!
//! The record does not say where it will be sent, so the rule is that of the API whose form the
//! image has:
//!
//! - Anthropic (`image`): one for each patch of 28 by 28 pixels; an image is reduced if an edge is
//!   over 1,568 or the patches are more than 1,568
//!   (platform.claude.com/docs/en/build-with-claude/vision; the newest models take up to 4,784);
//! - OpenAI (`image_url`, `input_image`): reduced to 2,048 by 2,048, with the shorter edge at most
//!   768, then 85, and 170 for each tile of 512 by 512; with low detail 85 (gpt-4o;
//!   developers.openai.com/api/docs/guides/images-vision);
//! - Gemini (`inlineData`): 258 if no edge is over 384, else for each tile of 768 by 768
//!   (ai.google.dev/gemini-api/docs/tokens).

use std::borrow::Cow;

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use ctx_format::{Media, Object};

/// So much of the base64 is looked at: before its size a photo may have a preview.
const LOOK_AT: usize = 128 << 10;

/// The longest edge and the most patches of an image that Claude sees unreduced.
const LONGEST: u64 = 1_568;
const MOST_PATCHES: u64 = 1_568;
const PATCH: u64 = 28;

/// The tokens of an image; `None` if the record does not have its size.
pub fn tokens(media: &Media<'_>) -> Option<u64> {
    let rule = match media.kind {
        "image" => claude,
        "image_url" | "input_image" | "image_generation_call" => openai,
        "inlineData" => gemini,
        _ => return None,
    };
    let object = Object::parse(&media.raw).ok()?;
    let place = Place::of(&object);
    if place.is_low {
        return Some(85);
    }
    let (width, height) = size(place.data.as_deref()?)?;
    Some(rule(width, height))
}

/// Where the data of an image are.
#[derive(Default)]
struct Place<'a> {
    /// Base64, or a URL.
    data: Option<Cow<'a, str>>,
    /// Whether it is asked for that the model sees little of it.
    is_low: bool,
}

impl<'a> Place<'a> {
    fn of(object: &Object<'a>) -> Self {
        let within = ["source", "image_url", "inlineData"];
        let inner = within.iter().find_map(|key| object.object_of(key));
        let texts = ["data", "url", "image_url", "result"];
        let text = |object: &Object<'a>| texts.iter().find_map(|key| object.text_of(key));
        let is_low = |object: &Object<'a>| object.text_of("detail").as_deref() == Some("low");
        Self {
            data: inner.as_ref().and_then(text).or_else(|| text(object)),
            is_low: is_low(object) || inner.as_ref().is_some_and(is_low),
        }
    }
}

/// Width and height of the image that `data` begins with, in base64 or as a URL of it.
fn size(data: &str) -> Option<(u64, u64)> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let data = match data.strip_prefix("data:") {
        Some(url) => url.split_once(";base64,")?.1,
        None => data,
    };
    let begin = data.get(..LOOK_AT).unwrap_or(data);
    // The rest of a cut one would be padding that is missing.
    let begin = begin.get(..begin.len() / 4 * 4)?;
    let engine = GeneralPurpose::new(&base64::alphabet::STANDARD, LENIENT);
    let bytes = engine.decode(begin).ok()?;
    let size = imagesize::blob_size(&bytes).ok()?;
    let (width, height) = (size.width as u64, size.height as u64);
    let edges = 1..=u64::from(u32::MAX);
    (edges.contains(&width) && edges.contains(&height)).then_some((width, height))
}

fn claude(width: u64, height: u64) -> u64 {
    let (long, short) = (width.max(height), width.min(height));
    let patches = |long: u64, short: u64| long.div_ceil(PATCH) * short.div_ceil(PATCH);
    // The longest edge that fits; the shorter one in proportion.
    let edges = (1..=long.min(LONGEST)).rev();
    let mut sizes = edges.map(|edge| {
        let other = (short * edge + long / 2) / long;
        patches(edge, other.max(1))
    });
    sizes.find(|patches| *patches <= MOST_PATCHES).unwrap_or(1)
}

fn openai(width: u64, height: u64) -> u64 {
    let fit = |(width, height): (u64, u64), edge: u64, most: u64| {
        if edge <= most {
            return (width, height);
        }
        let scaled = |length: u64| ((length * most + edge / 2) / edge).max(1);
        (scaled(width), scaled(height))
    };
    let (width, height) = fit((width, height), width.max(height), 2_048);
    let (width, height) = fit((width, height), width.min(height), 768);
    85 + 170 * width.div_ceil(512) * height.div_ceil(512)
}

fn gemini(width: u64, height: u64) -> u64 {
    if width.max(height) <= 384 {
        return 258;
    }
    258 * width.div_ceil(768).saturating_mul(height.div_ceil(768)).min(1 << 20)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use ctx_format::Part;

    use super::{claude, gemini, openai, tokens};

    /// The beginning of a PNG of that size.
    fn png(width: u32, height: u32) -> String {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 6, 0, 0, 0]);
        STANDARD.encode(bytes)
    }

    fn counted(kind: &'static str, raw: &str) -> Option<u64> {
        match Part::media(kind, raw) {
            Part::Media(media) => tokens(&media),
            _ => None,
        }
    }

    /// Sizes and charges that the vendors' pages name, and others have measured.
    #[test]
    fn what_is_published_is_what_is_counted() {
        for (width, height, expected) in [
            (200, 200, 64),
            (1_000, 1_000, 1_296),
            (1_092, 1_092, 1_521),
            (1_280, 720, 1_196),
            (1_920, 1_080, 1_560),
            (1_080, 1_920, 1_560),
            (1, 1, 1),
        ] {
            assert_eq!(claude(width, height), expected, "{width} by {height}");
        }
        for (width, height, expected) in
            [(1_024, 1_024, 765), (2_048, 4_096, 1_105), (512, 512, 255), (1, 1, 255)]
        {
            assert_eq!(openai(width, height), expected, "{width} by {height}");
        }
        for (width, height, expected) in [(384, 384, 258), (385, 10, 258), (769, 768, 516)] {
            assert_eq!(gemini(width, height), expected, "{width} by {height}");
        }
    }

    #[test]
    fn the_size_is_found_in_the_form_of_each_api() {
        let data = png(1_024, 1_024);
        for (kind, raw, expected) in [
            (
                "image",
                format!(
                    r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
                ),
                1_369,
            ),
            (
                "image",
                format!(r#"{{"type":"image","data":"{data}","mimeType":"image/png"}}"#),
                1_369,
            ),
            (
                "image_url",
                format!(
                    r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}"#
                ),
                765,
            ),
            (
                "image_url",
                format!(
                    r#"{{"type":"image_url","image_url":{{"url":"https://x","detail":"low","a":"{data}"}}}}"#
                ),
                85,
            ),
            (
                "input_image",
                format!(r#"{{"type":"input_image","image_url":"data:image/png;base64,{data}"}}"#),
                765,
            ),
            (
                "inlineData",
                format!(r#"{{"inlineData":{{"mimeType":"image/png","data":"{data}"}}}}"#),
                1_032,
            ),
        ] {
            assert_eq!(counted(kind, &raw), Some(expected), "{raw}");
        }
    }

    #[test]
    fn other_images_are_read_too() {
        let data = |bytes: &[u8]| {
            let data = STANDARD.encode(bytes);
            counted("image", &format!(r#"{{"data":"{data}"}}"#))
        };
        assert_eq!(data(b"GIF89a\x38\x00\x1d\x00\0\0\0\0"), Some(2 * 2));
        let jpeg = b"\xff\xd8\xff\xe0\x00\x04\0\0\xff\xc0\x00\x0b\x08\x00\x1d\x00\x38\x03\x01\x22\0\x02\x11\x01";
        assert_eq!(data(jpeg), Some(2 * 2));
        let webp = b"RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x37\0\0\x1c\0\0\0\0\0\0";
        assert_eq!(data(webp), Some(2 * 2));
    }

    #[test]
    fn what_tells_no_size_has_none() {
        for (kind, raw) in [
            ("document", format!(r#"{{"data":"{}"}}"#, png(10, 10))),
            ("image", r#"{"source":{"type":"url","url":"https://x/y.png"}}"#.to_owned()),
            ("image", r#"{"data":"aGVsbG8gd29ybGQ="}"#.to_owned()),
            ("image", format!(r#"{{"data":"{}"}}"#, png(0, 10))),
            ("image", r#"{"data":7}"#.to_owned()),
            ("image_url", r#"{"image_url":{"url":"data:image/png,€"}}"#.to_owned()),
            ("image", "no JSON".to_owned()),
        ] {
            assert_eq!(counted(kind, &raw), None, "{raw}");
        }
        let huge = format!(r#"{{"data":"{}"}}"#, png(u32::MAX, u32::MAX));
        assert_eq!(counted("image", &huge), Some(39 * 39));
        assert!(counted("inlineData", &huge).is_some() && counted("image_url", &huge).is_some());
    }
}
