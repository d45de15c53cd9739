import { ExternalFailure } from '@fairlead/contracts';
import { parseYaml } from '@fairlead/parsers';
import * as z from 'zod';
import type { HostPort } from '../../node/host.ports.js';
import { KUBELET_CONF } from '../../node/node.paths.js';

/** The kubelet's own kubeconfig has 6 KiB. */
const KUBECONFIG_LENGTH_MAX = 65_536;

const Kubeconfig = z.looseObject({
  'current-context': z.string(),
  contexts: z.array(
    z.looseObject({ name: z.string(), context: z.looseObject({ cluster: z.string(), user: z.string() }) }),
  ),
  clusters: z.array(
    z.looseObject({
      name: z.string(),
      cluster: z.looseObject({
        server: z.url(),
        'certificate-authority-data': z.string().optional(),
        'certificate-authority': z.string().optional(),
      }),
    }),
  ),
  users: z.array(
    z.looseObject({
      name: z.string(),
      user: z.looseObject({
        'client-certificate-data': z.string().optional(),
        'client-certificate': z.string().optional(),
        'client-key-data': z.string().optional(),
        'client-key': z.string().optional(),
      }),
    }),
  ),
});

/** How to connect to the API server as this node. */
export interface KubeAccess {
  readonly server: string;
  readonly ca: string | undefined;
  readonly cert: string;
  readonly key: string;
}

const broken = (message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'read the kubelet credentials', target: KUBELET_CONF, message });

/**
 * Reads a credential from the kubeconfig itself, or from a file that it references (kubelet-client-current.pem, which
 * the kubelet renews).
 */
const materialOf = async (
  host: HostPort,
  data: string | undefined,
  path: string | undefined,
): Promise<string | undefined> => {
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  if (path === undefined) return undefined;
  const text = await host.readFile(path);
  if (text === undefined) throw broken(`${path} is missing`);
  return text;
};

type Kubeconfig = z.infer<typeof Kubeconfig>;

/** The cluster and the user of the current context. */
interface Current {
  readonly cluster: Kubeconfig['clusters'][number]['cluster'];
  readonly user: Kubeconfig['users'][number]['user'];
}

const currentIn = (text: string): Current => {
  const parsed = Kubeconfig.safeParse(parseYaml(text, { lengthMax: KUBECONFIG_LENGTH_MAX }));
  if (!parsed.success) throw broken(z.prettifyError(parsed.error));
  const config = parsed.data;
  const context = config.contexts.find(({ name }) => name === config['current-context'])?.context;
  const cluster = config.clusters.find(({ name }) => name === context?.cluster)?.cluster;
  const user = config.users.find(({ name }) => name === context?.user)?.user;
  if (cluster === undefined || user === undefined) throw broken('its current context names what is not in it');
  return { cluster, user };
};

/** Caches the parsed kubeconfig by its text, which rarely changes: parsing costs more than a request. */
export class KubeconfigMemory {
  private last: { readonly text: string; readonly current: Current } | undefined;

  currentIn(text: string): Current {
    if (this.last?.text !== text) this.last = { text, current: currentIn(text) };
    return this.last.current;
  }
}

/**
 * Returns undefined if the host has not joined a cluster yet. Read at each connect, because the kubelet renews its
 * certificate.
 */
export const readKubeAccess = async (
  host: HostPort,
  memory = new KubeconfigMemory(),
): Promise<KubeAccess | undefined> => {
  const text = await host.readFile(KUBELET_CONF);
  if (text === undefined) return undefined;
  const { cluster, user } = memory.currentIn(text);
  const cert = await materialOf(host, user['client-certificate-data'], user['client-certificate']);
  const key = await materialOf(host, user['client-key-data'], user['client-key']);
  if (cert === undefined || key === undefined) throw broken('it has no client certificate');
  const ca = await materialOf(host, cluster['certificate-authority-data'], cluster['certificate-authority']);
  return { server: cluster.server, ca, cert, key };
};
