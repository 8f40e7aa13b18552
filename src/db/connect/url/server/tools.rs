//! The commands of a server's own tools for backup and restore, to be pasted into a shell.

use std::path::Path;

use super::{Host, Server, encoded};

impl Server {
    /// The command for a backup to a file. The tool asks for the password.
    pub fn backup_command(&self, file: &Path) -> String {
        let file = quoted(&file.to_string_lossy());
        match self.scheme {
            "postgresql" => format!("pg_dump --format=custom --file={file} --dbname={}", self.address()),
            _ => format!(
                "mariadb-dump {} --single-transaction --result-file={file} {}",
                self.mariadb_options(),
                quoted(&self.database)
            ),
        }
    }

    /// The command for restoring a backup into the database.
    pub fn restore_command(&self, file: &Path) -> String {
        let file = quoted(&file.to_string_lossy());
        match self.scheme {
            "postgresql" => format!(
                "pg_restore --clean --if-exists --single-transaction --dbname={} {file}",
                self.address()
            ),
            _ => format!("mariadb {} {} < {file}", self.mariadb_options(), quoted(&self.database)),
        }
    }

    /// The URL of a PostgreSQL server without its password and options.
    fn address(&self) -> String {
        let user = if self.user.is_empty() {
            String::new()
        } else {
            format!("{}@", encoded(&self.user))
        };
        let url = format!(
            "postgresql://{user}{}/{}",
            self.addresses(str::to_owned),
            encoded(&self.database)
        );
        quoted(&url)
    }

    fn mariadb_options(&self) -> String {
        let mut options = Vec::new();
        match (self.option("unix_socket"), self.hosts.first()) {
            (Some(socket), _) => options.push(format!("--socket={}", quoted(socket))),
            (None, Some(Host { name, port })) => {
                options.push(format!("--host={}", quoted(name)));
                options.extend(port.iter().map(|port| format!("--port={}", quoted(port))));
            }
            (None, None) => {}
        }
        options.push(format!("--user={} --password", quoted(&self.user)));
        options.join(" ")
    }
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/.:@,_-%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_name_the_server_and_no_password() {
        let file = Path::new("/b/it's.dump");
        let server = |scheme, rest| Server::parse(scheme, "", rest).unwrap();
        let postgresql = server("postgresql", "p:secret@db1:5432,db-2.x/place?sslmode=require");
        assert_eq!(
            postgresql.backup_command(file),
            r"pg_dump --format=custom --file='/b/it'\''s.dump' --dbname=postgresql://p@db1:5432,db-2.x/place"
        );
        assert_eq!(
            postgresql.restore_command(Path::new("b")),
            "pg_restore --clean --if-exists --single-transaction --dbname=postgresql://p@db1:5432,db-2.x/place b"
        );
        let mariadb = server("mysql", "p:secret@db:3307/place");
        assert_eq!(
            mariadb.backup_command(Path::new("b")),
            "mariadb-dump --host=db --port=3307 --user=p --password --single-transaction --result-file=b place"
        );
        assert_eq!(
            mariadb.restore_command(Path::new("b")),
            "mariadb --host=db --port=3307 --user=p --password place < b"
        );
        let socket = server("mysql", "p@/place?unix_socket=/run/m.sock");
        assert!(socket.backup_command(file).contains("--socket=/run/m.sock"));
    }
}
