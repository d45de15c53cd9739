import { describe, expect, it } from '@jest/globals';
import { build, type Plugin } from 'esbuild';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Resolves Fairlead's libraries to their sources, whether or not they are built. Other packages stay external, unless
 * they are bundled too.
 */
const ourSources = (packages: 'bundled' | 'outside'): Plugin => ({
  name: 'our-sources',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^@fairlead\// }, ({ path }) => {
      const [, library = '', entry = 'index'] = /^@fairlead\/([^/]+)(?:\/(.+))?$/u.exec(path) ?? [];
      const file = join(ROOT, 'libs', library, 'src', `${entry}.ts`);
      return existsSync(file) ? { path: file, sideEffects: false } : { path, external: true };
    });
    if (packages === 'outside') onResolve({ filter: /^[^./]/ }, ({ path }) => ({ path, external: true }));
  },
});

interface Entry {
  readonly text: string;
  readonly platform: 'node' | 'browser';
  readonly packages: 'bundled' | 'outside';
}

const bundled = async ({ text, platform, packages }: Entry): Promise<{ code: string; inputs: readonly string[] }> => {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    stdin: { contents: text, resolveDir: ROOT, loader: 'ts' },
    bundle: true,
    write: false,
    metafile: true,
    platform,
    format: platform === 'browser' ? 'iife' : 'esm',
    globalName: 'fairlead',
    outdir: '.',
    // Dynamically imported modules get separate files, as Node.js loads them.
    splitting: platform === 'node',
    target: 'es2022',
    plugins: [ourSources(packages)],
    logLevel: 'silent',
  });
  const inputs = Object.values(metafile.outputs)
    .flatMap((output) => Object.entries(output.inputs))
    .flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? file : []));
  return { code: outputFiles[0]!.text, inputs: inputs.toSorted() };
};

const domainOf = async (text: string): Promise<readonly string[]> => {
  const { inputs } = await bundled({ text, platform: 'node', packages: 'outside' });
  return inputs.filter((file) => file.startsWith('libs/domain/')).map((file) => file.slice('libs/domain/src/'.length));
};

const program = (main: string): string => `import './${main}';`;

describe('the programs', () => {
  it.each(['apps/node-agent/src/main.ts', 'apps/revoker/src/main.ts', 'apps/lab/src/main.ts'])(
    '%s loads no fold, no plan and no narrative',
    async (main) => expect(await domainOf(program(main))).toEqual([]),
  );

  it('apps/cli/src/main.ts loads the validation of documents, but neither members nor narrative', async () =>
    expect(await domainOf(program('apps/cli/src/main.ts'))).toEqual([
      'attempts.ts',
      'manifest/cluster.template.resolve.ts',
      'manifest/control-plane.rules.ts',
      'manifest/manifest.diff.ts',
      'manifest/manifest.plan.ts',
      'releases.fold.ts',
      'rules/cidrs.ts',
      'rules/cluster.rules.ts',
      'rules/document.faults.ts',
      'rules/issue.words.ts',
      'rules/manifest.rules.ts',
      'rules/nfs.ts',
      'rules/request.faults.ts',
      'rules/template.rules.ts',
    ]));

  it('load the narrative only to describe an event', async () => {
    const text = `import { sentenceOfEvent } from '@fairlead/domain'; ${program('apps/node-agent/src/main.ts')} console.log(sentenceOfEvent);`;
    expect(await domainOf(text)).toContain('narrative.ts');
  });
});

/** Validates a document, folds events and decides a manifest, and returns the verdict from the browser context. */
const JUDGING = `
  import { documentFaults, sentenceOfEvent } from '@fairlead/domain';
  import { ClusterManifest, isRefusal, specOfManifest } from '@fairlead/contracts';
  import { manifests, planFor } from './apps/gateway/src/manifest/manifests.decider.js';

  const basis = { namespace: 'default', now: '2026-11-28T12:00:00Z', templateOf: () => undefined, certificateFault: () => undefined };
  const codes = (document) => documentFaults(document, basis).faults.map(({ code }) => code);
  const stored = (fact, seq) => ({ ...fact, meta: { seq, time: basis.now, namespace: 'default', cluster: 'demo' } });

  const apply = (state, document) => {
    const spec = specOfManifest(ClusterManifest.parse(document).spec);
    const data = {
      namespace: 'default', cluster: 'demo', uid: '00000000-0000-4000-8000-000000000001', spec, plan: planFor(state, spec),
      seen: state, dryRun: false, requestId: 'r1', requestHash: 'hash', actor: 'user/spec', connectionFaults: [],
      upgrade: { upgradeId: 'u1' },
    };
    return manifests.decide(state, { type: 'ApplyManifest', data });
  };

  const codeOf = (outcome) => (isRefusal(outcome) ? outcome.code : outcome.map(({ type }) => type));

  export const judge = (right, wrong, larger) => {
    const facts = apply(manifests.initial, right);
    const created = facts.reduce((state, fact, index) => manifests.evolve(state, stored(fact, index + 1)), manifests.initial);
    return JSON.stringify({
      right: codes(right),
      wrong: codes(wrong),
      facts: facts.map(({ type }) => type),
      sentences: facts.map((fact, index) => sentenceOfEvent(stored(fact, index + 1))),
      again: apply(created, right),
      larger: codeOf(apply(created, larger)),
    });
  };
`;

const MANIFEST = {
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'demo' },
  spec: {
    serviceType: 'single',
    controlPlane: { replicas: 1, connection: 'lab', machineType: 'lab.medium' },
    pools: [{ name: 'workers', replicas: 2, connection: 'lab', machineType: 'lab.medium' }],
  },
};

const OVERLAPPING = {
  ...MANIFEST,
  spec: { ...MANIFEST.spec, network: { podCidr: '10.0.0.0/16', serviceCidr: '10.0.0.0/12' } },
};

const LARGER = { ...MANIFEST, spec: { ...MANIFEST.spec, pools: [{ ...MANIFEST.spec.pools[0], replicas: 4 }] } };

/** The browser features beyond ECMAScript that the libraries use. */
const browser = (): ReturnType<typeof createContext> => createContext({ URL, TextEncoder, TextDecoder });

describe('in a browser', () => {
  it('a manifest is validated, planned, decided and narrated as in the gateway', async () => {
    const { code } = await bundled({ text: JUDGING, platform: 'browser', packages: 'bundled' });
    const context = browser();
    expect(runInContext(`[typeof process, typeof require, typeof Buffer].join()`, context)).toBe(
      'undefined,undefined,undefined',
    );
    const verdict = runInContext(
      `${code}; fairlead.judge(${JSON.stringify(MANIFEST)}, ${JSON.stringify(OVERLAPPING)}, ${JSON.stringify(LARGER)})`,
      context,
    ) as string;
    expect(JSON.parse(verdict)).toEqual({
      right: [],
      wrong: ['cluster.cidr-overlap'],
      facts: ['ClusterRequested', 'ClusterSpecChanged'],
      sentences: [
        'a cluster of 1 control plane and 2 workers with Kubernetes v1.34.4 was requested',
        'manifest revision 1 was applied: workers 2',
      ],
      again: [],
      larger: 'cluster.not-ready',
    });
  });

  it('nothing of Node.js is available: modules that import it are not bundled', async () => {
    const text = `export { readFileSync } from 'node:fs';`;
    await expect(bundled({ text, platform: 'browser', packages: 'bundled' })).rejects.toThrow('node:fs');
  });
});
