// Package command is "caddy lock": the lock service for the shell. Importing it
// registers the command; a Caddy that has the lock modules has it, too.
//
//	caddy lock run deploy/prod -- ./deploy.sh
//
// # Vocabulary
//
//   - command: what "caddy lock run" runs. Its group is the process group that it
//     leads: the command with all it starts, but for what leaves the group.
//   - system: what a subcommand uses of the process that it runs in. Tests have
//     their own.
//   - leftovers: what is still in the group when the command itself has ended.
//
// # The life of a run
//
//	look up ─► acquire ─► start ─► command runs ─► leftovers end ─► release ─► exit
//	   │126/127   │75/69/77  │126      │  lost                │ lost
//	   ▼          ▼          ▼         ▼                      ▼
//	  exit       exit     release     TERM ── grace ── KILL ─► exit 79
//
// # Invariants
//
//  1. A lock is released only when nothing of the command's group is left. If that
//     cannot be brought about, the lock is left to its lease.
//  2. Every way out of a subcommand that acquired a lock releases it, but for that
//     one and for acquire, whose purpose it is to keep it.
//  3. Standard output has answers only. What goes wrong is one sentence on
//     standard error and an exit code of its own.
//  4. A signal reaches the command once: from the terminal if it has the terminal,
//     through the wrapper otherwise.
package command
