/**
 * Simulates the services for one agent in any network namespace: sends each JSON line of standard input, and prints
 * every fact that the agent states. A test could not otherwise reach a NATS server inside that namespace.
 */
import { createInterface } from 'node:readline';
import { connect } from '@nats-io/transport-node';

const [, , url, place] = process.argv;
const nc = await connect({ servers: url, waitOnFirstConnect: true, maxReconnectAttempts: -1 });
let network = null;

const answer = (output, message) => nc.publish(`agent.out.${place}.${output}`, JSON.stringify(message));

nc.subscribe(`agent.in.${place}.fact.*`, {
  callback: (_error, message) => {
    const { id, data } = message.json();
    answer('recorded', { id, rejected: null });
    process.stdout.write(`${JSON.stringify({ type: message.subject.split('.').at(-1), data })}\n`);
  },
});
nc.subscribe(`agent.in.${place}.sync`, {
  callback: () => answer('state', { desired: null, network, last: [] }),
});
await nc.flush();
process.stdout.write('{"type":"Listening"}\n');

for await (const line of createInterface({ input: process.stdin })) {
  network = JSON.parse(line);
  answer('network', network);
}
process.exit(0);
