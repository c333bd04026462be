// Package caddymodule is where the lock server runs: inside Caddy. It turns
// Caddy's configuration into options of a lock node, and Caddy's lifecycle into
// the node's start, changes and end. What a lock is, and who may grant one, is
// decided elsewhere.
//
// # Vocabulary
//
//   - App, the Caddy app "lock": the options of one configuration. There is one
//     for every configuration that is loaded, so for a moment two at a reload.
//   - host: what outlives configurations. It holds the node and the apps that
//     are started. There is one in the process.
//   - Handler, "layer4.handlers.lock": serves the connections of a listener.
//   - Guard, "layer4.handlers.lock_guard": stands before TLS and keeps clients
//     that prove nothing from using up what all clients need.
//   - gate: counts the connections of all handlers and guards in the process.
//   - slot: the place of one connection in the gate. It is pending until its
//     connection reaches a lock handler.
//   - Matcher, "layer4.matchers.lock": knows the protocol by its first bytes.
//   - identity: what tells the node from those of other Caddys in a storage that
//     they share. With the node's lock file it is in the folder lock of Caddy's
//     data directory.
//
// # Lifecycle
//
//	               Caddy                    App           host            node
//	load           Provision                checks        is found,
//	                                        options       or made
//	               Start                    adds itself   takes the file  Start
//	reload  (new)  Provision, Start         adds itself                   Reconfigure
//	        (old)  Stop, Cleanup            removes       goes on
//	                                        itself
//	failed reload
//	        (new)  [Start, Stop,] Cleanup   removes       the old app's   Reconfigure
//	                                        itself        options again
//	exit           event "stopping"                       ends            Shutdown
//	               Stop                     removes       gives the file
//	                                        itself        back
//
// # Invariants
//
//  1. Provision changes nothing that lives: no file, no option that counts.
//  2. The options that count are those of the app that was started last among
//     the apps that are still started.
//  3. The node runs only while this process holds the node's lock file.
//  4. A connection belongs to the host's node, never to a configuration: no
//     Cleanup touches it.
//  5. The connections of this package leave descriptors for the rest of the
//     process, however many clients come, as long as the limit is not so low that
//     a burst uses it up before the gate has seen it.
package caddymodule
