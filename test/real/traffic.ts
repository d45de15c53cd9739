import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request, type RequestOptions } from 'node:https';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { Kubectl } from './kubectl.js';
import type { Outsider } from './outsider.js';
import type { RealSystem } from './real.system.js';

/** Requests and their results. */
export interface Traffic {
  readonly requests: number;
  readonly failures: readonly string[];
  /** Start times of successful requests, in seconds. */
  readonly goodAt: readonly number[];
  /** Between two successful requests of one client, in seconds. */
  readonly longestGap: number;
}

const UNIT = 'traffic';
const LOG = '/var/tmp/traffic.log';

/**
 * Each request has a different source port, which neither the kernel nor Kubernetes assigns and which was not used
 * recently: the kernel remembers for two minutes where it sent an unanswered request.
 */
const [FIRST_PORT, LAST_PORT] = [20_000, 29_999];

/** One request per line; a failed one with curl's error and the kernel's destination. */
const loopOf = (url: string): string => `port=$((${FIRST_PORT} + $(date +%s) % 1000 * 10))
while :; do
  at=$(date +%s.%N)
  answer=$(curl --silent --show-error --max-time 5 --local-port $port --output /dev/null --write-out '%{http_code}' ${url} 2>&1)
  if [ "$answer" != 200 ]; then
    sent=$(conntrack --dump --proto tcp --orig-port-src $port 2>/dev/null)
    answer=$(echo "failed: $answer; ended at $(date +%s.%N); source port $port; $sent" | tr -s '\n ' ' ')
  fi
  echo "$at $answer"
  port=$((port + 1))
  [ $port -le ${LAST_PORT} ] || port=${FIRST_PORT}
  sleep 0.2
done >${LOG}`;

/**
 * Requests a page five times per second from inside each host, like its processes: through the node's own service
 * rules.
 */
export const askPageFrom = async (system: RealSystem, hosts: readonly string[], url: string): Promise<void> => {
  // New endpoints are not in every node's rules yet: the story begins when all of them serve the page.
  const first = `for _ in $(seq 60); do curl --silent --fail --max-time 5 --output /dev/null ${url} && exit; sleep 0.5; done; exit 1`;
  for (const host of hosts) await system.onHost(host, 'sh', '-c', first);
  const unit = ['systemd-run', `--unit=${UNIT}`, '--expand-environment=no', 'sh', '-c', loopOf(url)];
  for (const host of hosts) await system.onHost(host, ...unit);
};

/** One client's results: a time and a status per line. */
const trafficOf = (lines: readonly string[]): Traffic => {
  const answers = lines.map((line) => ({ line, at: Number(line.split(' ')[0]), isGood: line.endsWith(' 200') }));
  const good = answers.filter(({ isGood }) => isGood).map(({ at }) => at);
  const gaps = good.slice(1).map((at, index) => at - (good[index] ?? at));
  return {
    requests: answers.length,
    failures: answers.filter(({ isGood }) => !isGood).map(({ line }) => line),
    goodAt: good,
    longestGap: Math.max(0, ...gaps),
  };
};

const LINES_AT_ONCE = 1_000;

/** Only the last 64 KiB of a command's output are kept, less than a quarter of an hour of requests. */
const linesOf = async (system: Pick<RealSystem, 'onHost'>, host: string, file: string): Promise<readonly string[]> => {
  const lines: string[] = [];
  for (;;) {
    const range = `${lines.length + 1},${lines.length + LINES_AT_ONCE}p`;
    const some = (await system.onHost(host, 'sed', '-n', range, file)).split('\n').filter(Boolean);
    lines.push(...some);
    if (some.length < LINES_AT_ONCE) return lines;
  }
};

export const pagesAsked = async (
  system: Pick<RealSystem, 'onHost'>,
  hosts: readonly string[],
): Promise<readonly Traffic[]> =>
  Promise.all(
    hosts.map(async (host) => {
      await system.onHost(host, 'systemctl', 'stop', UNIT);
      return trafficOf(await linesOf(system, host, LOG));
    }),
  );

export interface Asking {
  /** Results so far. */
  now(): Traffic;
  end(): Promise<Traffic>;
}

/**
 * Requests a page ten times per second from outside the hosts, each over a new connection, with a timeout of one second
 * by default.
 */
export const askPageFromOutside = ({ wrap }: Outsider, url: string, secondsMax = 1): Asking => {
  const curl = `curl --silent --show-error --max-time ${secondsMax} --output /dev/null --write-out '%{http_code}' ${url} 2>&1`;
  const loop = `while :; do echo "$(date +%s.%N) $(${curl} | tr -s '\n' ' ')"; sleep 0.1; done`;
  const [program = '', ...words] = wrap(['setpriv', '--pdeathsig', 'KILL', 'sh', '-c', loop]);
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line.trim()));
  return {
    now: () => trafficOf(lines),
    end: async () => {
      child.kill('SIGKILL');
      await ended;
      return trafficOf(lines);
    },
  };
};

export interface Reads extends Traffic {
  /** Failed first attempts whose retry succeeded. */
  readonly retried: readonly string[];
}

/** Reads from the Kubernetes API at its load-balanced address without a pause until it is stopped; one retry each. */
export const readApi = (kubectl: Kubectl): { end(): Promise<Reads> } => {
  let isOver = false;
  const lines: string[] = [];
  const retried: string[] = [];
  const read = (): Promise<string> =>
    kubectl('get', '--raw', '/api/v1/namespaces/default/services', '--request-timeout', '10s').then(
      () => '200',
      (error: unknown) => String(error).split('\n').slice(0, 3).join(' '),
    );
  const reading = (async (): Promise<void> => {
    while (!isOver) {
      let answer = await read();
      if (answer !== '200') {
        retried.push(`${new Date().toISOString()} ${answer}`);
        answer = await read();
      }
      lines.push(`${Date.now() / 1_000} ${answer}`);
      await sleep(200);
    }
  })();
  return {
    end: async () => {
      isOver = true;
      await reading;
      return { ...trafficOf(lines), retried };
    },
  };
};

/** A failed request to the API. `at`: its start, in milliseconds. */
export interface ApiFailure {
  readonly at: number;
  readonly words: string;
}

export interface ApiProbe {
  /** Number of requests that started at or after this time. */
  requestsSince(at: number): number;
  failuresSince(at: number): readonly ApiFailure[];
  /**
   * The longest time without a success that ended after this time, in milliseconds; the end of the probe ends it, too.
   */
  longestGapSince(at: number): number;
  end(): Promise<void>;
}

const PROBE_PATH = '/api/v1/namespaces/default/services';
const PROBE_EVERY_MS = 200;
/** The timeout of Kubernetes clients for a read. */
const PROBE_TIMEOUT_MS = 10_000;

interface KubeconfigDocument {
  readonly clusters: readonly [
    { readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string } },
  ];
  readonly users: readonly [
    { readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string } },
  ];
}

const readOf = (kubeconfig: string): RequestOptions & { readonly url: string } => {
  const { clusters, users } = parse(readFileSync(kubeconfig, 'utf8')) as KubeconfigDocument;
  const text = (data: string): string => Buffer.from(data, 'base64').toString();
  const [{ cluster }, { user }] = [clusters[0], users[0]];
  return {
    url: `${cluster.server}${PROBE_PATH}`,
    ca: text(cluster['certificate-authority-data']),
    cert: text(user['client-certificate-data']),
    key: text(user['client-key-data']),
    timeout: PROBE_TIMEOUT_MS,
    // Each request has a new connection, like a client that has just started.
    agent: false,
  };
};

/** undefined: answered with 200. Otherwise how far it came, and the error. */
const failureOf = ({ url, ...options }: ReturnType<typeof readOf>): Promise<string | undefined> =>
  new Promise((resolve) => {
    let reached = 'not connected';
    const asked = request(url, options, (answer) => {
      reached = 'answered in part';
      answer.resume();
      answer.once('error', (error) => resolve(`${reached}: ${error.message}`));
      answer.once('end', () => resolve(answer.statusCode === 200 ? undefined : `status ${answer.statusCode}`));
    });
    asked.once('socket', (socket) => {
      socket.once('connect', () => (reached = 'connected'));
      socket.once('secureConnect', () => (reached = 'secured'));
    });
    asked.once('timeout', () => asked.destroy(new Error(`no answer within ${PROBE_TIMEOUT_MS} ms`)));
    asked.once('error', (error) => resolve(`${reached}: ${error.message}`));
    asked.end();
  });

/**
 * Reads from the Kubernetes API at its load-balanced address five times per second, without retries, until it is
 * stopped. A pending read delays no other: otherwise a lost one would hide subsequent losses.
 */
export const probeApi = ({ kubeconfig }: Kubectl): ApiProbe => {
  const read = readOf(kubeconfig);
  const begun: number[] = [];
  const failures: ApiFailure[] = [];
  const answeredAt: number[] = [];
  let endedAt = 0;
  const stop = new AbortController();
  const ask = async (at: number): Promise<void> => {
    const words = await failureOf(read);
    if (words === undefined) answeredAt.push(Date.now());
    else failures.push({ at, words });
  };
  const probing = (async (): Promise<void> => {
    // Each ends within its timeout, which bounds the pending ones.
    const asking = new Set<Promise<void>>();
    while (!stop.signal.aborted) {
      const at = Date.now();
      begun.push(at);
      const asked = ask(at).finally(() => asking.delete(asked));
      asking.add(asked);
      await sleep(PROBE_EVERY_MS);
    }
    await Promise.all(asking);
  })();
  return {
    requestsSince: (moment) => begun.filter((at) => at >= moment).length,
    failuresSince: (moment) => failures.filter(({ at }) => at >= moment),
    longestGapSince: (moment) =>
      Math.max(
        0,
        ...[...answeredAt, endedAt].map((at, index) => (at < moment ? 0 : at - (answeredAt[index - 1] ?? at))),
      ),
    end: async () => {
      endedAt = Date.now();
      stop.abort();
      await probing;
    },
  };
};
