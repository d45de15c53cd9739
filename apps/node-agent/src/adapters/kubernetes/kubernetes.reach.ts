import { wordsOf } from '@fairlead/contracts';
import type { HostPort } from '../../node/host.ports.js';
import type { Reached } from '../../network/network.ports.js';
import { KubeClient } from './kube.client.js';
import { readKubeAccess } from './kubeconfig.js';

const HTTP_ERROR_MIN = 500;

/**
 * Whether the API server responds over a new connection; undefined if the host has not joined a cluster. Only a
 * response counts, because a load balancer accepts connections even if it reaches no API server.
 */
export const kubernetesReach = async (host: HostPort, limitMs: number): Promise<Reached | undefined> => {
  let server = 'the API server';
  try {
    const access = await readKubeAccess(host);
    if (access === undefined) return undefined;
    server = access.server;
    const status = await statusWithin(new KubeClient(access), limitMs);
    if (status < HTTP_ERROR_MIN) return { reached: true, sentence: `${server} answers` };
    return { reached: false, sentence: `${server} answers ${status}` };
  } catch (error) {
    return { reached: false, sentence: `${server} cannot be reached from this host: ${wordsOf(error)}` };
  }
};

const statusWithin = async (client: KubeClient, limitMs: number): Promise<number> => {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs);
  });
  try {
    const { status } = await Promise.race([client.ask('GET', '/version'), limit]);
    return status;
  } finally {
    clearTimeout(timer);
    client.disconnect();
  }
};
