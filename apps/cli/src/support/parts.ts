import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import pc from 'picocolors';
import { eventsOf } from '../api/streams.js';
import type { ClusterAt } from '../api/views.js';
import { describeAnswer, describedOf } from '../cluster/cluster.describe.js';
import { clusterAt, type Session } from '../command/session.js';
import { exported, yamlOf } from '../document/manifest.document.js';
import { answerText } from '../output/format.js';
import { VERSION } from '../version.js';
import { machineFacts } from './machine.effects.js';
import { namesIn } from './folder.names.js';
import { scrubbedData } from './scrub.js';

/** A file of the bundle. */
export interface Part {
  readonly path: string;
  /** What it holds, in a few words. */
  readonly what: string;
  readonly read: () => Promise<string>;
}

const EVENTS_MAX = 2_000;
const LOG_TAIL_MAX_BYTES = 1_048_576;
const LOGS_MAX = 30;

const json = async (data: Promise<unknown>): Promise<string> =>
  `${JSON.stringify(scrubbedData(await data), undefined, 2)}\n`;

const textAt = async ({ access, api }: Session, path: string): Promise<string> => {
  const headers = access.token === undefined ? {} : { authorization: `Bearer ${access.token}` };
  return (await api.access.fetch(new Request(`${api.access.server}${path}`, { headers }))).text();
};

const instanceParts = (session: Session): readonly Part[] => {
  const { api, namespace } = session;
  const versions = async () => ({ client: VERSION, node: process.version, server: await api.get('/version') });
  return [
    { path: 'version.json', what: 'versions of client and server', read: () => json(versions()) },
    { path: 'whoami.json', what: 'whose token was used, and its roles', read: () => json(api.get('/whoami')) },
    { path: 'readyz.json', what: 'readiness of the services', read: () => textAt(session, '/readyz') },
    { path: 'metrics.txt', what: 'metrics of the gateway', read: () => textAt(session, '/metrics') },
    {
      path: 'connections.json',
      what: 'connections, their hosts and problems',
      read: () => json(api.list('/connections')),
    },
    { path: 'handover.json', what: 'handover of the installation', read: () => json(api.get('/handover')) },
    { path: 'quarantine.json', what: 'clusters that are stopped', read: () => json(api.list('/quarantine')) },
    {
      path: 'clusters.json',
      what: `clusters of namespace ${namespace}`,
      read: () => json(api.list('/ns/{namespace}/clusters', { namespace })),
    },
  ];
};

const describeText = async ({ api, io }: Session, at: ClusterAt): Promise<string> => {
  const colors = pc.createColors(false); // It is a file, whatever the terminal can show.
  const options = { all: true, nowMs: io.now(), columns: Number.POSITIVE_INFINITY, colors };
  return answerText(describeAnswer(await describedOf(api, at), options), 'table');
};

const clusterParts = (session: Session, cluster: string): readonly Part[] => {
  const { api } = session;
  const at = clusterAt(session, cluster);
  const inFolder = (name: string): string => `cluster/${name}`;
  const events = async () => (await eventsOf(api, at, { since: 0 })).slice(-EVENTS_MAX);
  return [
    { path: inFolder('describe.txt'), what: 'operations, steps and failures', read: () => describeText(session, at) },
    {
      path: inFolder('cluster.json'),
      what: 'state and conditions',
      read: () => json(api.get('/ns/{namespace}/clusters/{cluster}', at)),
    },
    {
      path: inFolder('manifest.yaml'),
      what: 'the manifest',
      read: async () =>
        yamlOf(scrubbedData(exported(await api.get('/ns/{namespace}/clusters/{cluster}/manifest', at))) as object),
    },
    {
      path: inFolder('generations.json'),
      what: 'generations of the manifest',
      read: () => json(api.list('/ns/{namespace}/clusters/{cluster}/manifest/generations', at)),
    },
    {
      path: inFolder('nodes.json'),
      what: 'nodes and their conditions',
      read: () => json(api.list('/ns/{namespace}/clusters/{cluster}/nodes', at)),
    },
    {
      path: inFolder('machines.json'),
      what: 'machines at their providers',
      read: () => json(api.list('/ns/{namespace}/clusters/{cluster}/machines', at)),
    },
    {
      path: inFolder('operations.json'),
      what: 'operations with attempts',
      read: () => json(api.list('/ns/{namespace}/clusters/{cluster}/operations', at)),
    },
    {
      path: inFolder('upgrades.json'),
      what: 'upgrades',
      read: () => json(api.list('/ns/{namespace}/clusters/{cluster}/upgrades', at)),
    },
    {
      path: inFolder('findings.json'),
      what: 'plans and findings of the latest upgrades',
      read: () => json(latestUpgrades(session, at)),
    },
    {
      path: inFolder('etcd-snapshots.json'),
      what: 'snapshots of etcd',
      read: () => json(api.list('/ns/{namespace}/clusters/{cluster}/etcd/snapshots', at)),
    },
    {
      path: inFolder('certificates.json'),
      what: 'certificates and their ends',
      read: () => json(api.list('/ns/{namespace}/clusters/{cluster}/certificates', at)),
    },
    { path: inFolder('events.json'), what: `the last ${EVENTS_MAX} events`, read: () => json(events()) },
  ];
};

const UPGRADES_MAX = 3;

/** Dry runs are many, and only the latest one can be what a problem is about. */
const latestUpgrades = async ({ api }: Session, at: ClusterAt): Promise<unknown> => {
  const latestFirst = await api.list('/ns/{namespace}/clusters/{cluster}/upgrades', at);
  const [dryRuns, changing] = [true, false].map((is) => latestFirst.filter(({ mode }) => (mode === 'dry-run') === is));
  const latest = [...changing!.slice(0, UPGRADES_MAX), ...dryRuns!.slice(0, 1)];
  return Promise.all(
    latest.map(({ id }) => api.get('/ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}', { ...at, upgrade: id })),
  );
};

/** The end of a file; the first line may be half of one, and half of a secret is not recognized. */
const endOf = (file: string, maxBytes: number): string => {
  const handle = openSync(file, 'r');
  try {
    const { size } = fstatSync(handle);
    const length = Math.min(size, maxBytes);
    const buffer = Buffer.alloc(length);
    readSync(handle, buffer, 0, length, size - length);
    const text = buffer.toString('utf8');
    return size > length ? text.slice(text.indexOf('\n') + 1) : text;
  } finally {
    closeSync(handle);
  }
};

/** The end of a log: what went wrong is there, or in the file from before it was rotated. */
const tailOf = (file: string): string => {
  const latest = endOf(file, LOG_TAIL_MAX_BYTES);
  const room = LOG_TAIL_MAX_BYTES - Buffer.byteLength(latest);
  return existsSync(`${file}.1`) && room > 0 ? endOf(`${file}.1`, room) + latest : latest;
};

const logParts = (dataDir: string): readonly Part[] =>
  namesIn(join(dataDir, 'logs'))
    .filter((name) => name.endsWith('.log'))
    .slice(0, LOGS_MAX)
    .map((name) => ({
      path: `logs/${name}`,
      what: 'the end of a log of this instance',
      read: async () => tailOf(join(dataDir, 'logs', name)),
    }));

/** Everything that is collected; what is on this machine only beside the instance. */
export const partsOf = (session: Session, cluster: string | undefined): readonly Part[] => [
  ...instanceParts(session),
  ...(cluster === undefined ? [] : clusterParts(session, cluster)),
  ...localParts(session),
];

/** What needs no server. */
export const localParts = ({ access: { instance } }: Session): readonly Part[] =>
  instance === undefined
    ? []
    : [
        { path: 'machine.json', what: 'this machine and the instance', read: () => json(machineFacts(instance)) },
        ...logParts(instance.dataDir),
      ];
