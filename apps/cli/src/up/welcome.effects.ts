import { KUBECONFIG_TTL_SECONDS, type RefusalCode } from '@fairlead/contracts';
import { writeWhole } from '@fairlead/embedded/process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../api/api.js';
import type { ClusterAt } from '../api/views.js';
import { CliFailure } from '../failures.js';
import { findInstance } from '../instance/instance.store.js';
import type { Io } from '../io/io.js';
import { pageLink } from '../page/page.link.effects.js';
import { followOperation, unlessUnknown } from '../progress/follow.effects.js';
import { commandName } from './command.name.js';
import { DEMO_AT, ensureDemo } from './demo.effects.js';
import { debugCommand } from './env-file.store.js';
import { greetingText, type Greeting } from './greeting.js';
import { siteVerified } from './registration.effects.js';
import { SITES, type DebuggableService, type UpSettings } from './up.settings.js';

/** What became of the demo: Ready, failed, or none (not asked for, or deleted by its user). */
interface DemoOutcome {
  readonly ready?: ClusterAt;
  readonly failure?: CliFailure;
}

/**
 * Makes the demo cluster, if asked to, shows how it grows, and prints how everything is reached. Answers with the demo's failure, which is
 * no reason to stop serving: it can be looked at, retried and deleted.
 */
export const welcome = async (
  api: Api,
  settings: UpSettings,
  io: Io,
  { serves }: Pick<Greeting, 'serves'>,
): Promise<Pick<DemoOutcome, 'failure'>> => {
  if (settings.without !== undefined) io.err(debugHint(settings.dataDir, settings.without));
  const { ready, failure } = await demoOutcome(api, settings, io, serves);
  const greeting: Greeting = {
    server: api.access.server,
    page: serves === 'no more' ? undefined : (await pageLink(api)).url,
    tokenFile: join(settings.dataDir, 'keys', 'local.token'),
    dataDir: settings.dataDir,
    cluster: ready === undefined ? undefined : await clusterGreeting(api, ready, settings.dataDir),
    failed: failure === undefined ? undefined : DEMO_AT.cluster,
    existing: (await unlessUnknown(api.get('/ns/{namespace}/clusters/{cluster}', DEMO_AT)))?.name,
    command: commandName(io),
    isElsewhere: !isFoundFrom(io.cwd, settings.dataDir),
    site: SITES[settings.provider],
    serves,
  };
  io.out(greetingText(greeting, io.colors));
  return failure === undefined ? {} : { failure };
};

/** Another folder on the way that cannot be read is no reason to fail: then this one has to be named. */
const isFoundFrom = (cwd: string, dataDir: string): boolean => {
  try {
    return findInstance(cwd, undefined)?.dataDir === dataDir;
  } catch {
    return false;
  }
};

const debugHint = (dataDir: string, service: DebuggableService): string =>
  `\n${service} is not running. Start it from the checkout:\n\n  ${debugCommand(dataDir, service)}\n\n`;

const demoOutcome = async (
  api: Api,
  { provider, demo }: UpSettings,
  io: Io,
  serves: Greeting['serves'],
): Promise<DemoOutcome> => {
  if (demo === undefined) return {};
  await siteVerified(api, provider, io.interrupts.first);
  if ((await ensureDemo(api, provider, demo)) === 'was-deleted') {
    io.err(`The cluster ${DEMO_AT.cluster} was deleted, and is not created again.\n`);
    return {};
  }
  try {
    const { operation } = await followOperation(api, io, DEMO_AT, {
      requestSeq: 0,
      what: `the creation of ${DEMO_AT.cluster}`,
    });
    return operation.kind === 'delete' ? {} : { ready: DEMO_AT };
  } catch (error) {
    if (error instanceof CliFailure && error.exit === 'failed') return { failure: error };
    throw error instanceof CliFailure && error.exit === 'interrupted' ? tooEarly(error, serves) : error;
  }
};

/** Where the server ends with us, the cluster waits in the data folder. */
const tooEarly = (cause: CliFailure, serves: Greeting['serves']): CliFailure =>
  new CliFailure('interrupted', {
    code: 'cli.interrupted',
    message: `The cluster ${DEMO_AT.cluster} was not Ready yet`,
    help:
      serves === 'in the background'
        ? `Fairlead runs in the background and continues: "fairlead cluster describe ${DEMO_AT.cluster}" shows how far it is.`
        : 'Start it again with the same data folder; it continues where it left off.',
    cause,
  });

const clusterGreeting = async (api: Api, at: ClusterAt, dataDir: string): Promise<Greeting['cluster']> => {
  const { name: cluster, endpoint } = await api.get('/ns/{namespace}/clusters/{cluster}', at);
  const kubeconfigFile = join(dataDir, 'kubeconfigs', `${cluster}.yaml`);
  writeWhole(kubeconfigFile, await signedKubeconfig(api, at));
  return { name: cluster, kubeconfigFile, endpoint };
};

const SIGN_TRIES_MAX = 20;
const SIGN_AGAIN_MS = 1_000;
const NOT_SIGNED: ReadonlySet<string> = new Set<RefusalCode>(['cluster.kubeconfig-failed', 'cluster.kubeconfig-late']);

/** After a start on an older data folder the cluster's machines may still be coming up. */
const signedKubeconfig = async (api: Api, at: ClusterAt): Promise<string> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await api.text('/ns/{namespace}/clusters/{cluster}/kubeconfig', at, {
        query: { ttlSeconds: KUBECONFIG_TTL_SECONDS.max },
      });
    } catch (error) {
      if (!(error instanceof CliFailure && NOT_SIGNED.has(error.code)) || attempt >= SIGN_TRIES_MAX) throw error;
      await sleep(SIGN_AGAIN_MS);
    }
  }
};
