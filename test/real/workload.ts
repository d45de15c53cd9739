import { SHARED_IMAGES } from '@fairlead/contracts';
import type { Kubectl } from './kubectl.js';

const PORT = 8080;
const labels = { app: 'web' };

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 4,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 1,
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: labels },
            nodeTaintsPolicy: 'Honor',
          },
        ],
        containers: [
          {
            name: 'web',
            image: SHARED_IMAGES.busybox.reference,
            imagePullPolicy: 'Never',
            command: [
              ...['sh', '-c'],
              `mkdir -p /www; hostname >/www/index.html; exec busybox httpd -f -p ${PORT} -h /www`,
            ],
            readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
};

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web' },
  spec: { selector: labels, ports: [{ port: 80, targetPort: PORT }] },
};

/**
 * A web server with one page, its own name, on every worker, and a service for them; all from one image that hosts
 * have.
 */
export const webManifests = { apiVersion: 'v1', kind: 'List', items: [deployment, service] };

/**
 * The same, for use during drains: one pod at a time may be evicted, and continues to serve until it receives no more
 * requests.
 */
export const budgetedManifests: readonly object[] = [
  {
    ...deployment,
    spec: {
      ...deployment.spec,
      template: {
        ...deployment.spec.template,
        spec: {
          ...deployment.spec.template.spec,
          terminationGracePeriodSeconds: 10,
          containers: deployment.spec.template.spec.containers.map((container) => ({
            ...container,
            // Tolerates a machine that is busy for a second.
            readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1, timeoutSeconds: 5 },
            lifecycle: { preStop: { exec: { command: ['sleep', '3'] } } },
          })),
        },
      },
    },
  },
  service,
  {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'web' },
    spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
  },
];

export interface Pod {
  readonly name: string;
  readonly node: string;
  readonly address: string;
}

export const addressesOfPods = async (kubectl: Kubectl): Promise<readonly Pod[]> => {
  const { items } = JSON.parse(await kubectl('get', 'pods', '-l', 'app=web', '-o', 'json')) as {
    items: { metadata: { name: string }; spec: { nodeName: string }; status: { podIP: string } }[];
  };
  return items.map(({ metadata, spec, status }) => ({
    name: metadata.name,
    node: spec.nodeName,
    address: status.podIP,
  }));
};

/** The nodes whose pods are the service's endpoints. */
export const nodesOfPage = async (kubectl: Kubectl): Promise<readonly string[]> => {
  const slices = await kubectl('get', 'endpointslices', '-l', 'kubernetes.io/service-name=web', '-o', 'json');
  const { items } = JSON.parse(slices) as {
    readonly items: readonly {
      readonly endpoints:
        readonly { readonly nodeName: string; readonly conditions: { readonly ready: boolean } }[] | null;
    }[];
  };
  return items.flatMap(({ endpoints }) =>
    (endpoints ?? []).flatMap(({ nodeName, conditions }) => (conditions.ready ? [nodeName] : [])),
  );
};

/**
 * Failures from inside this pod, one sentence each: each pod by its address, the service by its address and its name.
 */
export const talks = async (kubectl: Kubectl, from: string, pods: readonly Pod[]): Promise<readonly string[]> => {
  const inside = (...words: readonly string[]): Promise<string> => kubectl('exec', from, '--', ...words);
  const problems: string[] = [];
  for (const { name, node, address } of pods) {
    const page = await inside('wget', '-q', '-T', '5', '-O', '-', `http://${address}:${PORT}`).catch(String);
    if (page.trim() !== name) problems.push(`${from} does not reach ${name} on ${node}: ${page}`);
  }
  const looked = await inside('nslookup', 'web.default.svc.cluster.local').catch(String);
  if (!/Address:\s+10\./.test(looked)) problems.push(`${from} does not resolve the name of the service: ${looked}`);
  const served = await inside('wget', '-q', '-T', '5', '-O', '-', 'http://web.default.svc.cluster.local').catch(String);
  if (!pods.some(({ name }) => name === served.trim())) problems.push(`${from} does not reach the service: ${served}`);
  return problems;
};
