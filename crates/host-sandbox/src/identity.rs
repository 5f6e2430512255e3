//! Who a child is, where the host is root and could make it anybody.

use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The group of a user that the system's list doesn't know and whose folder belongs to root's group.
const NO_GROUP: u32 = 65534;
/// The most of the system's list of users that is read.
const PASSWD_BYTES_MAX: u64 = 4 << 20;

/// An ordinary user that a root host becomes before it starts a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Become {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Become {
    /// The owner of a workspace, where the host is root and that owner isn't. Files that children make then
    /// belong to the one whose folder it is, and nobody's ownership has to be changed.
    pub(crate) fn owner_of(workspace: &Path) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let about = std::fs::metadata(workspace).ok()?;
        if about.uid() == 0 {
            return None;
        }
        let gid = primary_group(&passwd(), about.uid()).unwrap_or(match about.gid() {
            0 => NO_GROUP,
            gid => gid,
        });
        Some(Become { uid: about.uid(), gid })
    }

    /// Gives this user something that the host has just made for it: never anything that was there before.
    pub(crate) fn given(self, fresh: &Path) -> std::io::Result<()> {
        std::os::unix::fs::chown(fresh, Some(self.uid), Some(self.gid))
    }

    /// The same for several things.
    pub(crate) fn given_all(self, fresh: &[&Path]) -> std::io::Result<()> {
        fresh.iter().try_for_each(|fresh| self.given(fresh))
    }

    /// The first folder on the way to a path that this user may not pass, if there is one.
    pub(crate) fn barred_from(self, path: &Path) -> Option<&Path> {
        path.ancestors().find(|folder| {
            std::fs::metadata(folder).is_ok_and(|about| {
                let shift = match () {
                    () if about.uid() == self.uid => 6,
                    () if about.gid() == self.gid => 3,
                    () => 0,
                };
                about.mode() >> shift & 1 == 0
            })
        })
    }
}

fn passwd() -> String {
    use std::io::Read as _;
    let mut text = String::new();
    if let Ok(file) = std::fs::File::open("/etc/passwd") {
        let _ = file.take(PASSWD_BYTES_MAX).read_to_string(&mut text);
    }
    text
}

/// The group that the list gives a user, unless it is root's.
fn primary_group(passwd: &str, uid: u32) -> Option<u32> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        let (user, group) = (fields.next()?.parse::<u32>().ok()?, fields.next()?.parse::<u32>().ok()?);
        (user == uid && group != 0).then_some(group)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // SBX-2
    #[test]
    fn a_user_gets_its_own_group_and_never_roots() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:1001::/home/ann:/bin/sh\nbob:x:7:0::/:/bin/sh\n";
        assert_eq!(primary_group(passwd, 1000), Some(1001));
        assert_eq!(primary_group(passwd, 7), None);
        assert_eq!(primary_group(passwd, 8), None);
    }

    #[test]
    fn a_closed_folder_on_the_way_bars() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().expect("a folder");
        let deep = dir.path().join("deep");
        std::fs::create_dir(&deep).expect("made");
        let set = |mode| {
            std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).expect("set");
        };
        set(0o700);
        let stranger = Become { uid: 12_345, gid: 12_345 };
        assert_eq!(stranger.barred_from(&deep), Some(dir.path()));
        set(0o711);
        assert_eq!(stranger.barred_from(&deep), None);
    }
}
