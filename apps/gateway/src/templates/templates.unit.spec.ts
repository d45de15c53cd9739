import { isRefusal, namespaceStream, type ClusterUid, type Fact, type Namespace } from '@fairlead/contracts';
import { NO_TEMPLATES, templateNamed, templateFaults } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { makeHandle, type Handle } from '@fairlead/event-sourcing/jetstream';
import { MemoryStore } from '@fairlead/event-sourcing/memory.store';
import { specification } from '@fairlead/event-sourcing/spec';
import { InstallationReleases } from '@fairlead/service-kit';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Caller } from '../http/caller.js';
import { RefusalError } from '../http/refusal.error.js';
import { TemplateCommands } from './templates.commands.js';
import { templates, type ApplyTemplate } from './templates.decider.js';
import { templateVersionFaults } from './templates.rules.js';

const namespace = 'default' as Namespace;
const template = 'small';
const cluster = { version: 'v1.34.4', pools: { machineType: 'lab.small' } };
const applied = (data: Partial<ApplyTemplate['data']> = {}): ApplyTemplate => ({
  type: 'ApplyTemplate',
  data: {
    ...{ namespace, template, description: '', deprecated: false, cluster, resourceVersion: undefined },
    ...{ dryRun: false, ...data },
  },
});

const ns: Fact = { type: 'NamespaceCreated', data: { name: namespace, description: '' } };
const created: Fact = {
  type: 'ClusterTemplateCreated',
  data: { name: namespace, template, description: '', deprecated: false, cluster },
};
const deprecated: Fact = {
  type: 'ClusterTemplateChanged',
  data: { name: namespace, template, description: '', deprecated: true },
};
const { given } = specification(templates);

describe('the templates of a namespace', () => {
  it('need a namespace, and go with it', () => {
    given().when(applied()).thenRefused('namespace.unknown');
    const gone: Fact = { type: 'NamespaceDeleted', data: { name: namespace } };
    given(ns, created, gone, ns).when(applied()).then(created);
  });

  it('are known by their names alone, whatever every object has', () => {
    const named = { type: 'DeleteTemplate', data: { namespace, template: 'constructor', retiredSeq: 0, clusters: [] } };
    given(ns)
      .when(named as never)
      .thenRefused('template.unknown');
  });

  it('record nothing for what is declared already, whatever the order of its fields', () => {
    given(ns, created)
      .when(applied({ cluster: { pools: { machineType: 'lab.small' }, version: 'v1.34.4' } }))
      .thenNothing();
  });

  it('never change their values', () => {
    given(ns, created)
      .when(applied({ cluster: { version: 'v1.34.4' } }))
      .thenRefused('template.values-immutable');
  });

  it('are not deleted while clusters have them, nor when they may be chosen again since they were retired', () => {
    const remove = (retiredSeq: number, ...clusters: string[]) =>
      ({ type: 'DeleteTemplate', data: { namespace, template, retiredSeq, clusters } }) as const;
    given(ns, created, deprecated).when(remove(3, 'shop')).thenRefused('template.in-use');
    given(ns, created).when(remove(3)).thenRefused('conflict.concurrent');
    given(ns, created, deprecated)
      .when(remove(3))
      .then({ type: 'ClusterTemplateDeleted', data: { name: namespace, template } });
  });
});

describe('the version of a template that a cluster is to have', () => {
  const faults = (before: string, after: string, ...kubelets: readonly string[]) =>
    templateVersionFaults({
      ...{ template, before, after },
      kubelets: kubelets.map((version, at) => ({ node: `node-${at}`, version })),
    }).map(({ code }) => code);

  it.each([
    ['a later patch', 'v1.34.4', 'v1.34.5', []],
    ['the next minor', 'v1.34.4', 'v1.35.0', []],
    ['a lower patch', 'v1.34.4', 'v1.34.3', ['template.version-lower']],
    ['a lower minor', 'v1.34.4', 'v1.33.9', ['template.version-lower']],
    ['two minors above', 'v1.34.4', 'v1.36.0', ['template.version-step']],
  ])('%s: %s to %s', (_name, before, after, codes) => {
    expect(faults(before, after, before)).toEqual(codes);
  });

  it('is not more than one minor above the oldest kubelet; one that has not reported counts for none [azimuth 32]', () => {
    expect(faults('v1.34.4', 'v1.35.4', 'v1.34.4', 'v1.33.13', '')).toEqual(['template.kubelet-too-old']);
    expect(faults('v1.34.4', 'v1.34.5', 'v1.34.4', 'v1.33.13', '')).toEqual([]);
    expect(faults('v1.34.4', 'v1.35.4', '', '')).toEqual([]);
  });
});

describe('a template of which no cluster could be made', () => {
  const faultsOf = (values: object) =>
    templateFaults({ spec: { cluster: { version: 'v1.34.4', ...values } } } as never).map(({ code, field }) => [
      code,
      field,
    ]);

  it('is refused with the field of the template, and one that leaves things to clusters is not', () => {
    expect(faultsOf({})).toEqual([]);
    expect(faultsOf({ version: 'v1.2.3' })).toEqual([['cluster.version-unknown', 'spec.cluster.version']]);
    expect(faultsOf({ network: { podCidr: '10.0.0.0/8', serviceCidr: '10.0.0.0/12' } })).toContainEqual([
      'cluster.cidr-overlap',
      expect.stringContaining('spec.cluster.network.'),
    ]);
    expect(faultsOf({ pools: { rollout: { maxSurge: 0, maxUnavailable: 0 } } })).toEqual([
      ['pool.rollout-blocked', 'spec.cluster.pools.rollout'],
    ]);
    expect(faultsOf({ controlPlane: { etcd: 'external' } })).toEqual([]);
    const rules = [{ name: 'batch', behavior: 'Delete', pools: ['batch'] }];
    expect(faultsOf({ drain: { rules } }).map(([code]) => code)).not.toContain('drain.rule-pool');
  });
});

const uid = '00000000-0000-4000-8000-000000000000' as ClusterUid;
const cause = { actor: 'user/spec', correlationId: 'c', causationId: 'c' };
const caller = { identity: { actor: 'user/spec' }, requestId: 'r' } as Caller;

type Choose = Command<'Choose', { readonly revision: number }>;
type ChoiceFact = Fact<'ClusterTemplateChosen' | 'ClusterResumed'>;

/** As much of a cluster as matters here: whether it was declared with the template. */
const choices: Decider<boolean, Choose, ChoiceFact> = {
  initial: false,
  decide: (isChosen, { data: { revision } }) =>
    isChosen
      ? nothing
      : [
          { type: 'ClusterTemplateChosen', data: { uid, template, revision } },
          { type: 'ClusterResumed', data: { uid, reason: '' } },
        ],
  evolve: (isChosen, { type }) => isChosen || type === 'ClusterTemplateChosen',
};

const streamOf = (name: string) => ({ namespace, cluster: name, context: 'request' });

/** As a manifest that names the template is applied. */
const choose = async (commands: TemplateCommands, handle: Handle, name: string): Promise<boolean> => {
  for (;;) {
    const { templates: known, elsewhere } = await commands.read(namespace, caller);
    const found = templateNamed(known, template);
    if (found === undefined || found.deprecated) return false;
    const command = { type: 'Choose', elsewhere, data: { revision: found.revision } } as const;
    if (!isRefusal(await handle(choices, streamOf(name), command, cause))) return true;
  }
};

describe('a template that is deleted while clusters choose it', () => {
  it('is gone and had by none, or there and had by those that it names, in whatever order replicas reach the log [azimuth 32]', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.integer({ min: 1, max: 3 }), async (scheduler, count) => {
        const log = new MemoryStore();
        const setUp = makeHandle(log);
        await log.append(namespaceStream(namespace), { seq: 0, streamVersion: 0, hash: '' }, [ns], cause);
        await setUp(templates, namespaceStream(namespace), applied(), cause);
        const store = {
          read: scheduler.scheduleFunction(log.read.bind(log)),
          entries: scheduler.scheduleFunction(log.entries.bind(log)),
          append: scheduler.scheduleFunction(log.append.bind(log)),
        };
        const replica = () => {
          const handle = makeHandle(store);
          return { handle, commands: new TemplateCommands(handle, store, new InstallationReleases(store)) };
        };
        const names = Array.from({ length: count }, (_, at) => `cluster-${at}`);
        const chosen = names.map((name) => {
          const { handle, commands } = replica();
          return choose(commands, handle, name);
        });
        const usersOf = async (chosenBy: readonly string[]) => {
          const users: string[] = [];
          for (const name of chosenBy) {
            const [event] = await store.read(`evt.*.*.${name}.>`, 0);
            if (event !== undefined) users.push(name);
          }
          return users;
        };
        const deleted = replica()
          .commands.delete({ namespace, template }, usersOf, caller)
          .then(
            () => 'gone',
            (error: unknown) => {
              if (error instanceof RefusalError) return error.refusals[0].code;
              throw error;
            },
          );
        await scheduler.waitFor(Promise.all([...chosen, deleted]));
        const users = (await Promise.all(chosen)).filter(Boolean).length;
        const outcome = await deleted;
        const read = await setUp(
          templates,
          namespaceStream(namespace),
          { type: 'ReadTemplates', data: { namespace } },
          cause,
        );
        const isThere = !isRefusal(read) && templateNamed(read.state ?? NO_TEMPLATES, template) !== undefined;
        expect([outcome, isThere]).toEqual(users === 0 ? ['gone', false] : ['template.in-use', true]);
        seen.add(outcome);
      }),
      { numRuns: 200 },
    );
    expect(seen).toEqual(new Set(['gone', 'template.in-use']));
  });
});
