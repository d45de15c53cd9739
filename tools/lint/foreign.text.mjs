/**
 * Untrusted text must be parsed by @fairlead/parsers, which limits its size and depth. This rule reports every other
 * call of a JSON or YAML parser. Files that parse the platform's own data are exempt, each with a reason.
 */

/** Files and folders that parse only text that the platform itself has written. */
export const OWN_DATA = {
  'libs/parsers/src/json.ts': 'the bounded parser',
  'libs/parsers/src/yaml.ts': 'the bounded parser',
  'libs/event-sourcing/src/jetstream/':
    'messages of services, at most 1 MiB, and answers of NATS about streams; message.text.ts bounds the depth of events',
  'libs/event-sourcing/src/simulation/database.ts': 'rows of a simulation',
  'libs/kubernetes/src/kubernetes.client.ts': 'answers of API servers, bounded there',
  'libs/kubernetes/src/list.pages.ts': 'pages of lists of API servers, bounded there',
  'libs/contracts/src/addon.secrets.ts': 'a sealed secret',
  'libs/contracts/src/hook.secrets.ts': 'a sealed secret',
  'libs/embedded/src/supervisor/leftovers.ts': 'files of the data folder',
  'libs/embedded/src/credentials/operator.store.ts': 'files of the data folder',
  'libs/embedded/src/postgres/': 'files of the data folder and of packages',
  'libs/embedded/src/folder/': 'files of the data folder',
  'libs/node-scripts/src/shell/sent.step.ts': 'a step that the platform sends to itself',
  'libs/nspawn/src/': 'files of the state folder, and what ip prints on this machine',
  'libs/service-kit/src/metrics/log.gauges.ts': 'answers of NATS about its own streams',
  'libs/service-kit/src/secrets.nats.ts': 'sealed secrets that services have written',
  'libs/service-kit/src/given.environment.ts': 'the environment that a program was started with',
  'apps/gateway/src/http/answer.seal.ts': 'a sealed answer of the gateway',
  'apps/gateway/src/joins/joins.commands.ts': 'a credential that bootstrap-svc has sealed',
  'apps/gateway/src/executions/log.channel.ts': 'messages of bootstrap-svc',
  'apps/gateway/src/limits/disk.reserve.ts': 'answers of NATS about its own account',
  'apps/bootstrap-svc/src/config.ts': 'settings of the service',
  'apps/bootstrap-svc/src/adapters/nats/nats.log.readers.ts': 'messages of the gateway',
  'apps/bootstrap-svc/src/joins/join.credentials.ts': 'a sealed secret',
  'apps/bootstrap-svc/src/control-plane/etcd.authority.ts': 'a sealed secret',
  'apps/revoker/src/config.ts': 'settings of the program',
  'apps/revoker/src/adapters/nats/': 'answers of NATS about its own accounts and connections',
  'apps/cli/src/keys/data.rotation.effects.ts': 'sealed secrets that services have written',
  'apps/cli/src/support/known.secrets.ts': 'key files of the instance, bounded there',
  'apps/node-agent/src/main.ts': 'settings of the agent',
  'apps/node-agent/src/host/host.main.ts': 'files of the agent',
  'apps/node-agent/src/host/host.channel.ts': 'messages of the platform',
  'apps/node-agent/src/credentials/credential.renewal.ts': 'settings of the agent',
  'apps/node-agent/src/adapters/nats/nats.platform.ts': 'messages of the platform',
  'apps/node-agent/src/agent/state.store.ts': 'files of the agent',
  'apps/node-agent/src/network/network.store.ts': 'files of the agent',
  'apps/node-agent/src/change/change.store.ts': 'files of the agent',
  'apps/cli/src/handover/installation.store.ts': 'files of the data folder',
  'apps/cli/src/handover/handover.effects.ts': 'a sealed box for this installation',
  'apps/cli/src/up/': 'what the programs of the instance print',
  'apps/cli/src/instance/': 'files of the data folder',
  'apps/cli/src/cluster/silent.services.ts': 'answers of services on this machine',
  'apps/web/src/create/manifest.text.ts': 'a text that the bounded parser has read, so that its comments stay',
  'apps/lab/src/': 'a simulation, on loopback: its parsers of YAML are bounded all the same',
};

const YAML_WRITERS = new Set(['stringify']);
const MESSAGE =
  'Text from outside is parsed by parseJson or parseYaml of @fairlead/parsers, which bound it; where the platform itself has written the text, list the place in tools/lint/foreign.text.mjs.';

const isJsonParse = ({ callee }) =>
  callee.type === 'MemberExpression' && callee.object.name === 'JSON' && callee.property.name === 'parse';

/** `message.json()` and `response.json()` parse JSON as well. `z.json()` is a schema. */
const isJsonMethod = ({ callee, arguments: given }) =>
  callee.type === 'MemberExpression' &&
  callee.property.name === 'json' &&
  callee.object.name !== 'z' &&
  given.length === 0;

export const foreignText = {
  meta: { type: 'problem', schema: [], messages: { foreign: MESSAGE } },
  create: (context) => ({
    CallExpression: (node) => {
      if (isJsonParse(node) || isJsonMethod(node)) context.report({ node, messageId: 'foreign' });
    },
    ImportDeclaration: (node) => {
      const names = node.specifiers.map(({ imported }) => imported?.name ?? '*');
      const isYaml = node.source.value === 'yaml' && names.some((name) => !YAML_WRITERS.has(name));
      if (isYaml || node.source.value === 'js-yaml') context.report({ node, messageId: 'foreign' });
    },
  }),
};
