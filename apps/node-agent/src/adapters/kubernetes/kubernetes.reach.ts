import { wordsOf } from '@fairlead/contracts';
import { connect } from 'node:net';
import type { HostPort } from '../../node/host.ports.js';
import type { Reached } from '../../network/network.ports.js';
import { readKubeAccess } from './kubeconfig.js';

const HTTPS_PORT = 443;

/** Whether the API server accepts a new connection; undefined: the host is part of no cluster yet. */
export const kubernetesReach = async (host: HostPort, limitMs: number): Promise<Reached | undefined> => {
  let server = '';
  try {
    const access = await readKubeAccess(host);
    if (access === undefined) return undefined;
    server = access.server;
    const { hostname, port } = new URL(server);
    await connected(hostname.replace(/^\[|\]$/g, ''), port === '' ? HTTPS_PORT : Number(port), limitMs);
    return { reached: true, sentence: `${server} is reached` };
  } catch (error) {
    return { reached: false, sentence: `${server} cannot be reached from this host: ${wordsOf(error)}` };
  }
};

const connected = (host: string, port: number, limitMs: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: limitMs });
    socket.on('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.on('timeout', () => socket.destroy(new Error(`no answer within ${limitMs} ms`)));
    socket.on('error', reject);
  });
