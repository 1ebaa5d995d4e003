//! Images, audio and files, whose data each format stores in a different place.

use std::borrow::Cow;

use crate::convert::lowered::{ORIGINAL, ORIGINAL_TYPE};
use crate::dialect::content::{kind_of, parts};
use crate::legality::content::{ImageFix, bare, image_fix, is_base64};
use crate::log::compaction::LineText;
use crate::{Media, Object, Part, ToolResult};

/// The data of an image, an audio clip or a file, independent of the source format.
pub(crate) struct Data {
    /// The MIME type, such as `image/png`; empty if it is unknown.
    pub(crate) mime: String,
    pub(crate) place: DataLocation,
    /// The file name, if the source states it.
    pub(crate) name: Option<String>,
}

/// Where the data of an image, an audio clip or a file is stored.
pub(crate) enum DataLocation {
    /// The data itself, encoded in base64.
    Here(String),
    /// The URL from which the data can be fetched.
    At(String),
}

/// Turns documents that consist of texts, which only the Anthropic API has, into texts.
pub(crate) fn spell_out(part: &mut Part<'_>) {
    match part {
        Part::Media(media) => {
            if let Some(text) = text_of(media) {
                *part = Part::Text(text);
            }
        }
        Part::Result(result) => result.parts.iter_mut().for_each(spell_out),
        _ => {}
    }
}

fn text_of(document: &Media<'_>) -> Option<Cow<'static, str>> {
    let source = Object::parse(&document.raw).ok()?.object_of("source")?;
    let key = if kind_of(&source) == "text" { "data" } else { "content" };
    let parts = parts(Some(source.get(key)?), &|block| block.text_of("text").map(Part::Text));
    ToolResult { parts, ..ToolResult::default() }.text().map(|text| Cow::Owned(text.into_owned()))
}

/// Returns the URL in the source of an image if no API fetches it: it holds the data, which the
/// Anthropic API takes only as base64, or it is the path of a file.
pub(crate) fn bad_url<'a>(source: &Object<'a>) -> Option<Cow<'a, str>> {
    source.text_of("url").filter(|url| !is_fetched(url))
}

/// Returns true for a URL from which an API fetches an image. The data in a `data:` URL may contain
/// other URLs.
fn is_fetched(url: &str) -> bool {
    !url.starts_with("data:") && url.contains("://")
}

/// The types of parts that can hold the data of an image or a document.
const KINDS: [&str; 7] =
    ["image", "document", "image_url", "input_image", "file", "input_file", "inlineData"];

impl Media<'_> {
    /// Returns the part of the source record if this is a part of a lowered session, otherwise the
    /// part itself.
    pub fn original(&self) -> Media<'_> {
        let original = || {
            let object = Object::parse(&self.raw).ok()?;
            let kind = object.text_of(ORIGINAL_TYPE)?;
            let kind = KINDS.iter().find(|it| **it == kind).unwrap_or(&self.kind);
            Some(Media { kind, raw: object.get(ORIGINAL)?.into() })
        };
        original().unwrap_or(Media { kind: self.kind, raw: self.raw.as_ref().into() })
    }

    /// Returns the MIME type and the base64 data of an image or a document; `None` if the record
    /// does not hold its data.
    pub fn data(&self) -> Option<(String, String)> {
        let data = Data::of(self).filter(|_| KINDS.contains(&self.kind))?;
        let DataLocation::Here(base64) = data.place else { return None };
        Some((data.mime, base64))
    }

    /// Returns a block of the type `kind` with the type and the data of an image, as pi and Copilot
    /// store it; `None` if the record does not hold its data.
    pub(crate) fn image_block(&self, kind: &str) -> Option<String> {
        let image = Data::of(self).filter(Data::is_image)?;
        let DataLocation::Here(data) = &image.place else { return None };
        Some(LineText::of_type(kind).text("data", data).text("mimeType", &image.mime).end())
    }
}

impl Data {
    /// Returns the data of `media`; `None` if there is no data, or only a reference that a single
    /// vendor's API can resolve.
    pub(crate) fn of(media: &Media<'_>) -> Option<Self> {
        let media = media.original();
        let object = Object::parse(&media.raw).ok()?;
        let text = |object: &Object<'_>, key| String::from(object.text_of(key).unwrap_or_default());
        let within = |key: &str| object.object_of(key);
        let here = Self::here;
        let from = |of: &Object<'_>, mime| here(text(of, mime), &text(of, "data"));
        let data = match media.kind {
            // pi stores the data next to the type, whereas the Anthropic API stores it in the
            // member `source`.
            "image" | "document" if object.get("source").is_none() => from(&object, "mimeType"),
            "image" | "document" => {
                let source = within("source")?;
                let is_image = media.kind == "image";
                let mime = if is_image { "image/*" } else { "application/pdf" };
                match source.text_of("type").as_deref() {
                    Some("base64") => from(&source, "media_type"),
                    Some("url") if bad_url(&source).is_some() => Self::of_url(&bad_url(&source)?),
                    Some("url") => Self::at(source.text_of("url")?.into(), mime),
                    _ => return None,
                }
            }
            "image_url" => {
                let image = within("image_url").or_else(|| within("imageUrl"))?;
                Self::of_url(&image.text_of("url")?)
            }
            "input_image" | "computer_screenshot" => {
                let url = object.text_of("image_url");
                Self::of_url(&url.or_else(|| within("image_url")?.text_of("url"))?)
            }
            "input_audio" => {
                let audio = within("input_audio").unwrap_or_else(|| object.clone());
                let format = audio.text_of("format")?;
                here(format!("audio/{format}"), &text(&audio, "data"))
            }
            "file" | "input_file" => {
                let file = within("file").unwrap_or_else(|| object.clone());
                let url = ["file_data", "file_url", "url"].iter().find_map(|key| file.text_of(key));
                let name = file.text_of("filename").map(Into::into);
                Self { name, ..Self::of_url(&url?) }
            }
            "image_generation_call" => here("image/png".into(), &text(&object, "result")),
            "inlineData" => from(&within("inlineData")?, "mimeType"),
            "fileData" => {
                let data = within("fileData")?;
                Self::at(data.text_of("fileUri")?.into(), &data.text_of("mimeType")?)
            }
            _ => return None,
        };
        let base64 = match &data.place {
            DataLocation::At(_) => return data.is_accepted().then_some(data),
            DataLocation::Here(base64) => base64,
        };
        let fix = image_fix(&data.mime, base64).filter(|_| data.mime.starts_with("image/"));
        let data = match fix {
            _ if !is_base64(base64) => return None,
            Some(ImageFix::Type(real)) => Self { mime: real.to_owned(), ..data },
            _ => data,
        };
        Some(data)
    }

    /// Reads a URL. A `data:` URL such as `data:image/png;base64,…` contains the data itself.
    pub(crate) fn of_url(url: &str) -> Self {
        let inner = url.strip_prefix("data:");
        match inner.and_then(|inner| inner.split_once(";base64,")) {
            Some((mime, data)) => Self::here(mime.to_owned(), data),
            None => Self::at(url.to_owned(), "image/*"),
        }
    }

    fn here(mime: String, data: &str) -> Self {
        // Some programs store a whole URL as the data.
        if data.starts_with("data:") {
            return Self::of_url(data);
        }
        Self { mime, place: DataLocation::Here(bare(data).into_owned()), name: None }
    }

    fn at(url: String, mime: &str) -> Self {
        Self { mime: mime.to_owned(), place: DataLocation::At(url), name: None }
    }

    /// Returns true for an image of a type that the APIs accept.
    pub(crate) fn is_image(&self) -> bool {
        let is_bad = |data: &String| image_fix(&self.mime, data).is_some();
        self.mime.starts_with("image/")
            && !matches!(&self.place, DataLocation::Here(data) if is_bad(data))
    }

    /// Returns true for such an image, and for a URL from which an image can be fetched.
    pub(crate) fn is_accepted(&self) -> bool {
        match &self.place {
            DataLocation::Here(_) => self.is_image(),
            DataLocation::At(url) => is_fetched(url),
        }
    }

    /// Returns true for such an image whose `url` can stay as it is.
    pub(crate) fn is_image_at(&self, url: &str) -> bool {
        self.is_image() && self.url() == url
    }

    pub(crate) fn is_pdf(&self) -> bool {
        self.mime == "application/pdf"
    }

    /// Returns a URL for the data. Data that is stored in the session becomes a `data:` URL.
    pub(crate) fn url(&self) -> String {
        match &self.place {
            DataLocation::Here(data) => format!("data:{};base64,{data}", self.mime),
            DataLocation::At(url) => url.clone(),
        }
    }
}
