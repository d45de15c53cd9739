import { connect as connectTo } from 'node:net';
import { CommandFault, type Command } from './command.js';

const TIMED_OUT_EXIT_CODE = 124;
const LIMIT_MS = 5_000;
const USAGE_EXIT_CODE = 2;

/**
 * `lab-connect ADDRESS PORT`: connects and disconnects. Hosts of the lab share the loopback interface, on which nothing
 * is ever dropped, so it is this command that simulates a firewall: it ends like `timeout` then.
 */
export const connect: Command = ({ args, signal, world, err }) => {
  const [address, text] = args;
  const port = Number(text);
  if (address === undefined || !Number.isInteger(port))
    throw new CommandFault('usage: lab-connect ADDRESS PORT', USAGE_EXIT_CODE);
  if (world.drops(address, port)) return TIMED_OUT_EXIT_CODE;
  return new Promise((resolve) => {
    const socket = connectTo({ host: address, port, timeout: LIMIT_MS, signal });
    const end = (code: number, words?: string): void => {
      socket.destroy();
      if (words !== undefined) err(words);
      resolve(code);
    };
    socket.once('connect', () => end(0));
    socket.once('timeout', () => end(TIMED_OUT_EXIT_CODE));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(1, error.code === 'ECONNREFUSED' ? 'Connection refused' : error.message),
    );
  });
};
