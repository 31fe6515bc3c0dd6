//! Gathers what each scheme and queue says of its deviations in the doc of its module, for `bakeoff show` and the
//! reference pages.
//!
//! A module is known by the names of its schemes or queues, a stack by that of its folder. The table is written to
//! `deviations.rs`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const SCHEMES: &str = "../core/src/scheme";
const QUEUES: &str = "../core/src/queue";
const STACKS: &str = "../stacks/src";
const TITLE: &str = "**Deviations";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut found = BTreeMap::new();
    for folder in [SCHEMES, QUEUES, STACKS] {
        println!("cargo::rerun-if-changed={folder}");
        for file in sources(Path::new(folder))? {
            let source = fs::read_to_string(&file)?;
            let Some(text) = deviations(&source) else { continue };
            let text = with_those_above(&text, &file)?;
            for name in names(&source, &file) {
                found.insert(name, text.clone());
            }
        }
    }
    let table: Vec<_> = found.into_iter().collect();
    let written = format!("const DEVIATIONS: &[(&str, &str)] = &{table:?};\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("deviations.rs"), written)?;
    Ok(())
}

fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

/// The schemes or queues of a module; of a stack, whose controllers have it before their names, that of its folder.
fn names(source: &str, file: &Path) -> Vec<String> {
    let declared = source.split("Info = Info {\n    name: \"").skip(1);
    let listed: Vec<_> = declared.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect();
    if !listed.is_empty() || !file.starts_with(STACKS) {
        return listed;
    }
    file.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()).into_iter().collect()
}

/// The section of a module's doc: a line for each paragraph and each item of a list.
fn deviations(source: &str) -> Option<String> {
    let doc = source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim_start);
    let mut section = doc.skip_while(|line| !line.starts_with(TITLE));
    let first = section.next()?.trim_start_matches(TITLE);
    let mut text = first.split_once("**").map_or(first, |(_, rest)| rest).trim_start().to_owned();
    for line in section.take_while(|line| !line.starts_with("**")) {
        let begins = line.is_empty() || line.starts_with("- ") || text.ends_with('\n');
        text.push(if begins { '\n' } else { ' ' });
        text.push_str(line);
    }
    Some(text.trim().to_owned())
}

/// With the deviations of the module above in place of a link to them, and other modules by their names.
fn with_those_above(text: &str, file: &Path) -> Result<String, Box<dyn Error>> {
    let mut text = text.replace("[`super::", "`").replace("`]", "`");
    if text.contains("[`super`") {
        let above = file.with_file_name("mod.rs");
        let theirs =
            deviations(&fs::read_to_string(&above)?).ok_or_else(|| format!("{}: no {TITLE}", above.display()))?;
        text = text.replace("See [`super`.", &theirs);
    }
    Ok(text)
}
