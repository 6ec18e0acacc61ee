//! The cache: items are complete or absent, even with dying or competing processes.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use redial_testbed::cache;

/// Each test has its own items in the real cache folder, below `self-test`.
struct Item(String);

impl Item {
    fn new(name: &str) -> Self {
        let item = Self(format!("self-test/{name}-{}", std::process::id()));
        item.clear();
        item
    }

    fn folder(&self) -> PathBuf {
        cache::folder().join(&self.0)
    }

    fn building(&self) -> PathBuf {
        cache::folder().join("building").join(self.0.replace('/', "-"))
    }

    fn clear(&self) {
        for folder in [self.folder(), self.building()] {
            if folder.exists() {
                fs::remove_dir_all(folder).expect("the test's own folder can be removed");
            }
        }
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        self.clear();
    }
}

#[test]
fn builds_an_item_once_per_recipe() -> anyhow::Result<()> {
    let item = Item::new("once");
    let builds = AtomicU32::new(0);
    let ensure = |recipe: &str| {
        cache::ensure(&item.0, recipe, |into| {
            builds.fetch_add(1, Ordering::Relaxed);
            fs::write(into.join("file"), recipe)?;
            Ok(())
        })
    };
    ensure("one")?;
    ensure("one")?;
    assert_eq!(builds.load(Ordering::Relaxed), 1);
    let folder = ensure("two")?;
    assert_eq!(builds.load(Ordering::Relaxed), 2);
    assert_eq!(fs::read_to_string(folder.join("file"))?, "two");
    Ok(())
}

#[test]
fn failed_build_leaves_no_item() -> anyhow::Result<()> {
    let item = Item::new("failed");
    let failed = cache::ensure(&item.0, "recipe", |into| {
        fs::write(into.join("half"), "half")?;
        anyhow::bail!("the network is gone")
    });
    assert_eq!(failed.expect_err("it failed").to_string(), "the network is gone");
    assert!(!item.folder().exists());
    let folder = cache::ensure(&item.0, "recipe", |into| Ok(fs::write(into.join("whole"), "whole")?))?;
    assert!(folder.join("whole").exists() && !folder.join("half").exists());
    Ok(())
}

#[test]
fn concurrent_users_build_once() -> anyhow::Result<()> {
    let item = Item::new("many");
    let builds = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    cache::ensure(&item.0, "recipe", |into| {
                        builds.fetch_add(1, Ordering::Relaxed);
                        Ok(fs::write(into.join("file"), "whole")?)
                    })
                })
            })
            .collect();
        for thread in running {
            let folder = thread.join().expect("no panic").expect("it is built");
            assert_eq!(fs::read_to_string(folder.join("file")).expect("it is there"), "whole");
        }
    });
    assert_eq!(builds.load(Ordering::Relaxed), 1);
    Ok(())
}

#[test]
fn never_uses_leftovers_of_dead_processes() -> anyhow::Result<()> {
    let item = Item::new("dead");
    let leftover = item.building().join("1");
    fs::create_dir_all(&leftover)?;
    fs::write(leftover.join("half"), "half")?;
    let folder = cache::ensure(&item.0, "recipe", |into| Ok(fs::write(into.join("whole"), "whole")?))?;
    assert!(folder.join("whole").exists() && !folder.join("half").exists());
    assert!(!leftover.exists());
    Ok(())
}
