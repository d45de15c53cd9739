import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { SERVICE_MEMORY } from '../../apps/cli/src/up/memory.settings.js';
import { makeKubeconfigs, writeKubeconfig } from '../../libs/kubernetes/src/kubeconfig.fixtures.js';
import { rounded, type Figure } from './figures.js';
import type { Attack, Damage } from './hostile.worker.js';

const WORKER = new URL('./hostile.worker.mjs', import.meta.url);
const BLOCKED_MAX_MS = 1_000;
const MEMORY_MAX_MIB = 300;
const KIBIBYTE = 1_024;
const MEBIBYTE = KIBIBYTE * KIBIBYTE;

/** Measures the effect of one input on a separate process that runs only the code that reads it in a service. */
const damageOf = async (attack: Attack): Promise<Damage> => {
  const child = fork(WORKER, {
    env: { ...process.env, ...SERVICE_MEMORY },
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.send(attack);
  const [damage] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code, signal]) => {
      throw new Error(`the process that reads hostile input ended: ${code ?? signal}`);
    }),
  ])) as [Damage];
  return damage;
};

const figureOf = (name: string, { end, tookMs, blockedMs, rssBeforeMiB, rssPeakMiB }: Damage): Figure => ({
  name: `hostile input: ${name}`,
  value: (factor) =>
    `event loop blocked for ${rounded(blockedMs * factor, 0)} ms at most, ${rounded(tookMs * factor, 0)} ms in total; RSS ${rounded(rssBeforeMiB, 0)} MiB before, ${rounded(rssPeakMiB, 0)} MiB at most (${end.replaceAll('|', '/')})`,
  goal: `< ${BLOCKED_MAX_MS} ms, < ${MEMORY_MAX_MIB} MiB`,
  met: (factor) => blockedMs * factor < BLOCKED_MAX_MS && rssPeakMiB < MEMORY_MAX_MIB,
});

/** Keys of one map, each of which the parser compares with all previous ones. */
const manyKeys = (bytes: number): string => {
  const keys: string[] = [];
  for (let length = 0; length < bytes; length += (keys.at(-1)?.length ?? 0) + 1) keys.push(`k${keys.length}: 0`);
  return `{${keys.join(',')}}`;
};

const gateOf = (kibibytes: number): string =>
  `apiVersion: batch/v1\nkind: Job\nmetadata: {name: check}\nspec: ${manyKeys(kibibytes * KIBIBYTE - 80)}\n`;

const indexOf = (kibibytes: number): string => `{entries: {chart: []}, x: ${manyKeys(kibibytes * KIBIBYTE - 40)}}\n`;

/** One of many small pods: it takes much more memory than its text. */
const smallPod = (at: number): string =>
  `{"metadata":{"name":"p-${at}","namespace":"n","uid":"u-${at}","labels":{"a":"b-${at}"}},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running"}}`;

const LABELS = Array.from({ length: 28 }, (_, at) => `"${'k'.repeat(240)}${at}":"${'v'.repeat(250)}`);

/** A pod of which everything is kept. */
const largePod = (at: number): string =>
  `{"metadata":{"name":"p-${at}","namespace":"n","uid":"u-${at}","labels":{${LABELS.map((label) => `${label}${at}"`).join(',')}}},"spec":{"nodeName":"n","containers":[]},"status":{}}`;

const PIECE_ITEMS = 500;

interface Lists {
  /** Maximum size of one response. */
  readonly mebibytes: number;
  /** Objects per response; absent: all, whatever the requested limit. */
  readonly pageItems?: number;
  readonly pod: (at: number) => string;
}

/** Responses to consecutive list requests, as an API server would never send them. */
const listsOf = ({ mebibytes, pageItems = Infinity, pod }: Lists): (() => Generator<string>) => {
  let pods = 0;
  return function* () {
    const more = pageItems === Infinity ? '' : 'more';
    let bytes = 0;
    yield `{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"${more}"},"items":[`;
    const last = pods + pageItems;
    while (bytes < mebibytes * MEBIBYTE && pods < last) {
      const piece = Array.from({ length: PIECE_ITEMS }, () => pod((pods += 1))).join(',');
      bytes += piece.length;
      yield bytes < mebibytes * MEBIBYTE && pods < last ? `${piece},` : piece;
    }
    yield ']}';
  };
};

const startApiServer = async (lists: Lists): Promise<{ readonly kubeconfig: string; readonly server: Server }> => {
  const { authority } = await makeKubeconfigs({ marker: '/nowhere', elsewhere: 'http://127.0.0.1' });
  const subject = { commonName: 'kube-apiserver', usage: 'server', sans: ['127.0.0.1'] } as const;
  const { certPem, keyPem } = await authority.issue(subject, Date.now());
  const list = listsOf(lists);
  const server = createServer({ cert: certPem, key: keyPem }, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    // A client that stops reading ends it.
    pipeline(Readable.from(list()), response).catch(() => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { kubeconfig: await writeKubeconfig(authority, undefined, `https://127.0.0.1:${port}`), server };
};

const damageOfCluster = async (lists: Lists): Promise<Damage> => {
  const { kubeconfig, server } = await startApiServer(lists);
  try {
    return await damageOf({ kind: 'cluster', kubeconfig });
  } finally {
    server.closeAllConnections();
    server.close();
  }
};

const GATE_KIB = 245;
const INDEX_KIB = 300;

/** Input from tenants and third parties, each at a size that blocked a service for seconds or minutes. */
export const benchHostile = async (): Promise<Figure[]> => [
  figureOf(
    `a gate with ${GATE_KIB} KiB of YAML, for upgrade-svc`,
    await damageOf({ kind: 'gate', manifest: gateOf(GATE_KIB) }),
  ),
  figureOf(
    `an index of ${INDEX_KIB} KiB of a chart repository, for infra-svc`,
    await damageOf({ kind: 'index', text: indexOf(INDEX_KIB) }),
  ),
  figureOf(
    'an API server that lists 60 MiB of pods in one answer',
    await damageOfCluster({ mebibytes: 60, pod: smallPod }),
  ),
  figureOf(
    'an API server that lists 250 MiB of pods in one answer',
    await damageOfCluster({ mebibytes: 250, pod: smallPod }),
  ),
  figureOf(
    'an API server that lists large pods without end, 500 an answer',
    await damageOfCluster({ mebibytes: 250, pod: largePod, pageItems: 500 }),
  ),
  figureOf(
    'an API server that lists small pods without end, 500 an answer',
    await damageOfCluster({ mebibytes: 250, pod: smallPod, pageItems: 500 }),
  ),
];
