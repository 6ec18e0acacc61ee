//! Tests of parsing and recipes.

use super::*;

const LIBRARY: &str = "/opt/redial/libredial_agent.so";

fn all() -> Vec<Recipe> {
    let dll = r"C:\Redial\redial_agent.dll".to_owned();
    vec![
        unix::shell(LIBRARY.into()),
        unix::systemd(LIBRARY.into()),
        containers::docker(LIBRARY.into()),
        containers::kubernetes(),
        containers::init_container(),
        containers::nuget(),
        windows::powershell(dll.clone(), true),
        windows::powershell(LIBRARY.into(), false),
        windows::iis("Shop Pool", dll.clone()),
        windows::service("ShopService", dll),
    ]
}

#[test]
fn parses_every_means() {
    for (word, means) in [
        ("shell", StartMethod::Shell),
        ("powershell", StartMethod::PowerShell),
        ("systemd", StartMethod::Systemd),
        ("docker", StartMethod::Docker),
        ("kubernetes", StartMethod::Kubernetes),
        ("init-container", StartMethod::InitContainer),
        ("nuget", StartMethod::NuGet),
        ("iis:Shop Pool", StartMethod::Iis("Shop Pool".into())),
        ("windows-service:Shop.Host", StartMethod::WindowsService("Shop.Host".into())),
    ] {
        assert_eq!(StartMethod::parse(word), Ok(means.clone()));
        assert_eq!(word.split(':').next(), Some(means.word()));
    }
    for (word, part) in [
        ("", "windows-service:NAME"),
        ("zsh", "windows-service:NAME"),
        ("shell:x", "windows-service:NAME"),
        ("iis", "iis:POOL"),
        ("iis:", "empty"),
        ("windows-service", "windows-service:NAME"),
        ("iis:a'b", "not a valid pool"),
        ("windows-service:a\nb", "not a valid"),
    ] {
        assert!(StartMethod::parse(word).is_err_and(|why| why.contains(part)), "{word}");
    }
}

#[test]
fn every_recipe_sets_variables_restarts_and_undoes() {
    for recipe in all() {
        let text = recipe.text().join("\n");
        let windows = recipe.library.contains('\\');
        assert_eq!(recipe.windows, windows, "{text}");
        for (name, value) in variables(&recipe.library, windows) {
            assert!(recipe.lines.iter().any(|line| line.contains(name)), "{name} is not set:\n{text}");
            assert!(text.contains(&value), "{value} is not in:\n{text}");
        }
        assert!(!recipe.restart.is_empty() && !recipe.undo.is_empty(), "{text}");
        assert_eq!(!recipe.tested, text.contains("not run by Redial's tests"), "{text}");
        assert_eq!(windows, text.contains(".NET Framework reads the COR_ variables"), "{text}");
        // Explanations are comments, so that the whole text can be used as it is.
        let executed = recipe.text().into_iter().filter(|line| !line.starts_with("# "));
        assert_eq!(executed.collect::<Vec<_>>(), recipe.lines);
    }
}

#[test]
fn sets_and_undoes_a_pool_with_appcmd() {
    let recipe = windows::iis("Shop Pool", r"C:\Redial\redial_agent.dll".into());
    assert!(
        recipe.lines.iter().any(|line| line.ends_with(
            "set config -section:system.applicationHost/applicationPools \"/+[name='Shop \
             Pool'].environmentVariables.[name='COR_PROFILER_PATH',value='C:\\Redial\\redial_agent.dll']\" \
             /commit:apphost"
        )),
        "{:#?}",
        recipe.lines
    );
    let removed = |line: &&String| line.contains("\"/-[name='Shop Pool'].environmentVariables.[name='COR");
    assert_eq!(recipe.undo.iter().filter(removed).count(), 6, "{:#?}", recipe.undo);
    assert!(recipe.restart[0].ends_with("recycle apppool /apppool.name:\"Shop Pool\""));
}

#[test]
fn patches_are_indented_like_a_deployment() {
    for recipe in [containers::kubernetes(), containers::init_container()] {
        let indented = |line: &String| line.len() - line.trim_start().len();
        let mut depth = 0;
        for line in &recipe.lines {
            let own = indented(line);
            assert!(own <= depth + 4 && own % 2 == 0, "{line}");
            depth = own;
        }
        assert!(
            recipe.undo[0].ends_with("CORECLR_ENABLE_PROFILING- CORECLR_PROFILER- CORECLR_PROFILER_PATH-")
        );
    }
}
