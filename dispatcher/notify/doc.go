// Package notify tells people and programs outside the cluster about reloads: Alerts post a sentence to a chat, Webhook asks
// another program to do the reload.
//
// What it promises:
//
//   - No config content can get out: everything is made of a reloader.Reload, which holds none.
//   - The address of a sink is a secret. Errors and logs name its host alone.
//   - An alert is a courtesy: Announce never blocks, too many are dropped and counted, and one that cannot be sent is logged and
//     given up after a few tries. A try whose answer got lost is repeated, so that a message may be seen twice.
//   - A webhook call is the reload itself: it succeeds only if the receiver said so, and anyone who calls decides when to call again.
//     Payload.IdempotencyKey tells the receiver that it is the same call.
//   - Redirects are not followed, and a receiver cannot keep us for longer than requestTime or make us read more than
//     maxAnswerBytes.
package notify
