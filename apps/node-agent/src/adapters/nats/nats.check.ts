import { wordsOf, type AgentConfig } from '@fairlead/contracts';
import { authenticatorOf } from '@fairlead/embedded/credentials';
import { connectTo } from './nats.connect.js';

export interface Check {
  readonly config: Pick<AgentConfig, 'namespace' | 'cluster' | 'node' | 'natsUrls' | 'natsCa'>;
  /** The contents of a NATS creds file; empty if the server requires none. */
  readonly credentials: string;
  readonly limitMs: number;
}

export interface Checked {
  readonly reached: boolean;
  /** The address, and why it cannot be reached, as reported by the connection. */
  readonly sentence: string;
}

/** Connects once with the agent's settings and reports the result; the agent itself retries forever. */
export const checkNats = async ({ config, credentials, limitMs }: Check): Promise<Checked> => {
  const { namespace, cluster, node, natsUrls, natsCa } = config;
  const where = natsUrls.join(', ');
  let words = '';
  for (const url of natsUrls) {
    try {
      const connection = await connectTo(url, natsCa === undefined ? undefined : () => natsCa, {
        name: `check of ${namespace}/${cluster}/${node}`,
        ...(credentials === '' ? {} : { authenticator: authenticatorOf(credentials) }),
        reconnect: false,
        maxReconnectAttempts: 1,
        timeout: Math.ceil(limitMs / natsUrls.length),
      });
      await connection.close();
      return { reached: true, sentence: `${where} is reached` };
    } catch (error) {
      words = wordsOf(error);
    }
  }
  return { reached: false, sentence: `${where} cannot be reached from this host: ${words}` };
};
