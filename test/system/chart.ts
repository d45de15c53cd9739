import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findHelm } from '@fairlead/mirror';
import { parseAllDocuments } from 'yaml';

export const CHART = join(fileURLToPath(new URL('../..', import.meta.url)), 'deploy', 'chart');
export const RELEASE = 'fairlead';
export const NAMESPACE = 'fairlead-system';
/** A helm that is built from its module knows no later Kubernetes than 1.20. */
export const OFFLINE = ['--kube-version', 'v1.34.4'];
/** The chart has no default: no image is published. */
export const IMAGE = ['--set', 'image.repository=registry.example.com/fairlead'];

export const helm = findHelm(process.env);
if (helm === undefined)
  process.stderr.write('!!! NOT CHECKED: the chart, because there is no helm here; "npm run helm:build" builds it\n');

export interface Mount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
  readonly securityContext: object;
  readonly resources: { readonly limits: { readonly memory: string } };
  readonly volumeMounts: readonly Mount[];
}

export interface PodSpec {
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: object;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
}

export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly replicas?: number; readonly template?: { readonly spec: PodSpec } };
}

export interface Helmed {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export const runHelm = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Helmed => {
  const { status, stdout, stderr } = spawnSync(helm ?? 'helm', args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env },
  });
  return { code: status, stdout, stderr };
};

/** What the chart makes of these values. */
export const rendered = (...args: readonly string[]): readonly Manifest[] => {
  const { code, stdout, stderr } = runHelm([
    ...['template', RELEASE, CHART, '--namespace', NAMESPACE],
    ...OFFLINE,
    ...IMAGE,
    ...args,
  ]);
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).flatMap((document) => (document.toJSON() as Manifest | null) ?? []);
};

export const podsOf = (manifests: readonly Manifest[]): ReadonlyMap<string, PodSpec> =>
  new Map(
    manifests.flatMap(({ kind, metadata, spec }) =>
      spec?.template === undefined
        ? []
        : [[`${kind}/${metadata.name.replace(`${RELEASE}-`, '')}`, spec.template.spec] as const],
    ),
  );

export const environmentIn = ({ env = [] }: Container): Readonly<Record<string, string>> =>
  Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
