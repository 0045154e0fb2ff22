//! `minfer pull`.

use anyhow::{Result, bail};
use serde_json::json;

use super::{JSON_VERSION, print_json, print_text};
use crate::args::PullArgs;
use crate::models::Source;
use crate::{known, remote};

pub fn run(args: PullArgs) -> Result<()> {
    let path = match Source::of(&args.name)? {
        Some(Source::Known(known)) => known::pull(known)?,
        Some(Source::Hub(reference)) => remote::pull(&reference, args.mirror.as_deref())?,
        Some(Source::Url(url)) => remote::pull_url(&url)?,
        None => {
            bail!("{:?} is not a known name, no hf:ORG/REPO and no URL; known: {}", args.name, known::names())
        }
    };
    if args.json {
        return print_json(&json!({"version": JSON_VERSION, "name": args.name, "path": path}));
    }
    print_text(&format!("{}\n", path.display()))
}
