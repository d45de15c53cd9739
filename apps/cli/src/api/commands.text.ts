/** Translates routes in the gateway's messages for CLI users: the path of a route, and the equivalent command. */
const COMMANDS: readonly (readonly [route: RegExp, command: (...names: string[]) => string])[] = [
  [/^GET \/ns$/, () => 'namespace list'],
  [/^POST \/ns$/, () => 'namespace create <namespace>'],
  [/^GET \/connections$/, () => 'connection list'],
  [/^GET \/connections\/([^/]+)$/, (name = '') => `connection get ${name}`],
  [/^PUT \/connections\/([^/]+)$/, (name = '') => `connection register ${name} --provider <name>`],
  [/^POST \/connections\/([^/]+)\/verify$/, (name = '') => `connection verify ${name}`],
  [/^GET \/connections\/([^/]+)\/orphans$/, (name = '') => `connection orphans list ${name}`],
  [
    /^POST \/connections\/([^/]+)\/orphans\/([^/]+)\/adopt$/,
    (name = '', id = '') => `connection orphans adopt ${name} ${id} --cluster <cluster> --pool <pool>`,
  ],
  [/^GET \/mcir\/connections\/([^/]+)\/specs$/, (name = '') => `connection specs ${name}`],
  [/^GET \/applications$/, () => 'application list'],
  [/^GET \/applications\/([^/]+)$/, (name = '') => `application get ${name}`],
  [/^GET \/releases$/, () => 'release list'],
  [/^PUT \/release-signers$/, () => 'release trust <key...>'],
  [/^PUT \/releases\/([^/]+)$/, (version = '') => `release add ${version}`],
  [/^GET \/tokens$/, () => 'token list'],
  [/^GET \/quarantine$/, () => 'quarantine list'],
  [/^GET \/ns\/([^/]+)\/realms$/, (namespace = '') => `realm list${within(namespace)}`],
  [/^GET \/ns\/([^/]+)\/clusters$/, (namespace = '') => `cluster list${within(namespace)}`],
  [/^GET \/ns\/([^/]+)\/cluster-templates$/, (namespace = '') => `template list${within(namespace)}`],
  [
    /^GET \/ns\/([^/]+)\/clusters\/([^/]+)\/operations$/,
    (namespace = '', cluster = '') => `cluster describe ${cluster} --all${within(namespace)}`,
  ],
  [
    /^POST \/ns\/([^/]+)\/clusters\/([^/]+)\/resume$/,
    (namespace = '', cluster = '') => `cluster resume ${cluster}${within(namespace)}`,
  ],
  [
    /^GET \/ns\/([^/]+)\/clusters\/([^/]+)\/manifest$/,
    (namespace = '', cluster = '') => `pool get ${cluster}${within(namespace)}`,
  ],
  [
    /^GET \/ns\/([^/]+)\/clusters\/([^/]+)\/manifest\/generations$/,
    (namespace = '', cluster = '') => `cluster history ${cluster}${within(namespace)}`,
  ],
  [
    /^GET \/ns\/([^/]+)\/clusters\/([^/]+)\/nodes$/,
    (namespace = '', cluster = '') => `node list ${cluster}${within(namespace)}`,
  ],
  [
    /^POST \/ns\/([^/]+)\/clusters\/([^/]+)\/nodes\/abandon$/,
    (namespace = '', cluster = '') => `node abandon ${cluster}${within(namespace)}`,
  ],
  [
    /^POST \/ns\/([^/]+)\/clusters\/([^/]+)\/operations\/([^/]+)\/cancel$/,
    (namespace = '', cluster = '', operation = '') => `node cancel ${cluster} ${operation}${within(namespace)}`,
  ],
  [
    /^POST \/ns\/([^/]+)\/clusters\/([^/]+)\/nodes\/([^/]+)\/cancel-removal$/,
    (namespace = '', cluster = '', node = '') => `node cancel-removal ${cluster} ${node}${within(namespace)}`,
  ],
  [
    /^DELETE \/ns\/([^/]+)\/clusters\/([^/]+)\/nodes\/([^/]+)$/,
    (namespace = '', cluster = '', node = '') => `node remove ${cluster} ${node}${within(namespace)}`,
  ],
  [
    /^GET \/ns\/([^/]+)\/clusters\/([^/]+)\/upgrades$/,
    (namespace = '', cluster = '') => `upgrade list ${cluster}${within(namespace)}`,
  ],
  [
    /^GET \/ns\/([^/]+)\/clusters\/([^/]+)\/upgrades\/([^/]+)$/,
    (namespace = '', cluster = '', upgrade = '') =>
      `upgrade status ${cluster} --upgrade ${upgrade} --all${within(namespace)}`,
  ],
  [
    /^GET \/ns\/([^/]+)\/clusters\/([^/]+)\/etcd\/snapshots$/,
    (namespace = '', cluster = '') => `etcd list ${cluster}${within(namespace)}`,
  ],
];

const DEFAULT_NAMESPACE = 'default';
const within = (namespace: string): string => (namespace === DEFAULT_NAMESPACE ? '' : ` -n ${namespace}`);

/** A method and a path in a sentence, without the punctuation that follows the path. */
const ROUTE = /\b(?:GET|POST|PUT|PATCH|DELETE) \/[^\s,;"'()]*[^\s,;"'.()]/g;

/** How a request is sent is the CLI's task; its user provides the token. */
const SENDING = 'Send "Authorization: Bearer <token>"';
const GIVING = 'Give a token with --token-file, in FAIRLEAD_TOKEN, or in a context ("fairlead context set")';

/** Replaces routes in the gateway's advice with commands. A route without a command is kept. */
export const inCommands = (text: string): string =>
  text.replace(SENDING, GIVING).replace(ROUTE, (route) => commandFor(route) ?? route);

const commandFor = (route: string): string | undefined => {
  for (const [pattern, command] of COMMANDS) {
    const found = pattern.exec(route);
    if (found !== null) return `"fairlead ${command(...found.slice(1))}"`;
  }
  return undefined;
};
