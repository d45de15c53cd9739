/**
 * No import cycles, and no import up between the folders of an app: each list goes from the top to the bottom, and a folder imports only
 * from those below it. Type imports count. Files beside the folders (composition roots, configuration) are free, but in no cycle.
 */
const LAYERS = {
  gateway: [
    'documents',
    'metrics',
    'ladybug',
    'quarantine',
    'clusters',
    'certificates',
    'etcd',
    'upgrades',
    'operations',
    'nodes',
    'holds',
    'connections',
    'auth',
    'events',
    'namespaces',
    'lifecycle',
    'limits',
    'http',
    'access',
    'common',
    'migrations',
  ],
  cli: [
    'reference',
    'keys',
    'provision',
    'up',
    'node',
    'pool',
    'kubeconfig',
    'completion',
    'bundle',
    'certificates',
    'etcd',
    'events',
    'namespace',
    'connection',
    'quarantine',
    'token',
    'cluster',
    'upgrade',
    'command',
    'progress',
    'api',
    'instance',
    'io',
    'output',
    'time',
    'spec',
  ],
  revoker: ['adapters', 'revocations'],
};

/** Cycles that are not broken yet: the simulated cloud, add-ons with their catalogue, the state of a bootstrap. */
const TEMPORARY = String.raw`^(libs|apps)/lab/|^apps/bootstrap-svc/src/(addons|bootstrap)/`;
const SPECS = String.raw`\.(spec|features|fixtures)\.ts$`;

const upward = Object.entries(LAYERS).flatMap(([app, folders]) =>
  folders.slice(1).map((folder, index) => ({
    name: `up-from-${app}-${folder}`,
    severity: 'error',
    comment: `${folder} is below these folders: move what both need down, or the joined view up.`,
    from: { path: `^apps/${app}/src/${folder}/`, pathNot: SPECS },
    to: { path: `^apps/${app}/src/(${folders.slice(0, index + 1).join('|')})/` },
  })),
);

const unlisted = Object.entries(LAYERS).map(([app, folders]) => ({
  name: `unlisted-folder-of-${app}`,
  severity: 'error',
  comment: 'List the folder in tools/imports.config.mjs, above everything that it imports.',
  from: {},
  to: { path: `^apps/${app}/src/[^/]+/`, pathNot: `^apps/${app}/src/(${folders.join('|')})/` },
}));

export default {
  forbidden: [
    {
      name: 'no-cycle',
      severity: 'error',
      comment: 'Move what both files need into a third one.',
      from: { pathNot: [SPECS, TEMPORARY] },
      to: { circular: true },
    },
    ...upward,
    ...unlisted,
  ],
  options: {
    tsPreCompilationDeps: true,
    exclude: { path: ['/dist/', '/node_modules/'] },
    includeOnly: { path: ['^(apps|libs)/[^/]+/src/'] },
  },
};
