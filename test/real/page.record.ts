import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kubectl } from './kubectl.js';

/** Kubernetes' state of the page, and when (milliseconds). */
export interface Sighting {
  readonly at: number;
  readonly words: string;
}

export interface PageRecord {
  since(at: number): readonly Sighting[];
  end(): void;
}

/** The service's endpoints: one line per change. */
const ENDPOINTS = [
  ...['endpointslices', '-l', 'kubernetes.io/service-name=web', '-o'],
  'jsonpath={"endpoints:"}{range .endpoints[*]}{" "}{.addresses[0]} on {.nodeName} ready={.conditions.ready}' +
    ' serving={.conditions.serving} terminating={.conditions.terminating};{end}{"\\n"}',
];
const PODS = [
  ...['pods', '-l', 'app=web', '-o'],
  'jsonpath={"pod: "}{.metadata.name} {.status.podIP} on {.spec.nodeName} {.status.phase}' +
    ' ready={.status.conditions[?(@.type=="Ready")].status} deleted={.metadata.deletionTimestamp}{"\\n"}',
];
const NODES = [
  ...['nodes', '-o'],
  'jsonpath={"node: "}{.metadata.name} ready={.status.conditions[?(@.type=="Ready")].status}' +
    ' unschedulable={.spec.unschedulable}{"\\n"}',
];
const AGAIN_MS = 1_000;
const SIGHTINGS_MAX = 100_000;

/** Watches the endpoints and pods of the page, and the nodes, to explain failed requests afterwards. */
export const recordPage = (kubectl: Kubectl): PageRecord => {
  const sightings: Sighting[] = [];
  const last = new Map<string, string>();
  const stop = new AbortController();
  const note = (words: string): void => {
    // Every heartbeat of a node is a change of its object: equal lines are skipped.
    const about = words.startsWith('endpoints') ? 'endpoints' : words.split(' ', 2).join(' ');
    if (last.get(about) === words || sightings.length >= SIGHTINGS_MAX) return;
    last.set(about, words);
    sightings.push({ at: Date.now(), words });
  };
  const watch = async (what: readonly string[]): Promise<void> => {
    while (!stop.signal.aborted) {
      const words = ['--kubeconfig', kubectl.kubeconfig, 'get', ...what, '--watch'];
      const child = spawn(kubectl.program, words, { stdio: ['ignore', 'pipe', 'ignore'], signal: stop.signal });
      const ended = new Promise((resolve) => child.once('error', resolve).once('close', resolve));
      createInterface(child.stdout).on('line', note);
      await ended;
      if (!stop.signal.aborted) note(`watch: of ${what[0]} ended at ${new Date().toISOString()}, and begins again`);
      await sleep(AGAIN_MS);
    }
  };
  for (const what of [ENDPOINTS, PODS, NODES]) void watch(what);
  return {
    since: (moment) => sightings.filter(({ at }) => at >= moment),
    end: () => stop.abort(),
  };
};
