import { SERVICES, type ServiceName } from '@fairlead/contracts';
import { SERVICE_MEMORY } from './memory.settings.js';
import type { HttpSettings, LabDelays, PublishSettings } from './up.settings.js';

/** The programs of an instance; they live in the checkout and know nothing of each other but NATS. */
export { SERVICES as SERVICE_NAMES };
export type { ServiceName };
export type ProgramName = ServiceName | 'revoker' | 'tunnel' | 'lab';

/** Where what each program needs is found. */
export interface Surroundings {
  readonly checkout: string;
  readonly nodeBinary: string;
  readonly dataDir: string;
  readonly nats: NatsSurroundings;
  readonly databases: Readonly<Record<ServiceName, string>>;
  readonly masterKeyFile: string;
  readonly localTokenFile: string;
  readonly gatewayPort: number;
  /** undefined: add-ons cannot be installed. */
  readonly helmProgram: string | undefined;
  readonly http: HttpSettings;
  /** undefined: no cluster is published. */
  readonly tunnel?: TunnelProgram | undefined;
  /** undefined: machines come from elsewhere. */
  readonly lab: LabProgram | undefined;
}

interface NatsSurroundings {
  readonly url: string;
  /** Where agents connect, separated by commas. */
  readonly agentUrls: string;
  credsFile(holder: ServiceName | 'revoker' | 'revoker-system' | 'tunnel'): string | undefined;
  readonly caFile: string | undefined;
  readonly monitorUrl: string | undefined;
  readonly storeDir: string | undefined;
  readonly nodeSigningFile: string | undefined;
  readonly accountSigningFile: string | undefined;
}

interface TunnelProgram extends PublishSettings {
  readonly keyFile: string;
  readonly publicKeyFile: string;
  /** Issues certificates of published services. */
  readonly authorityFile: string;
}

interface LabProgram {
  readonly port: number;
  /** Where its simulated identity provider listens; absent: it has none. */
  readonly identityPort?: number;
  readonly token: string;
  readonly delays: LabDelays;
  readonly light: boolean;
}

/** A program of the checkout. */
export interface Program {
  readonly name: ProgramName;
  readonly main: string;
  /** The same in one file, which starts faster. */
  readonly bundle: string;
  readonly args: readonly string[];
  /** 0: as everything; higher: after everything lower. */
  readonly niceness: number;
  /** Variables that are not the program's, but its runtime's. */
  readonly runtime: Readonly<Record<string, string>>;
}

/** How a program is started. */
export interface ProgramPlan extends Program {
  readonly env: Readonly<Record<string, string>>;
}

/** Every program of the instance: the lab first, because a service may ask it at once. */
export const planPrograms = (surroundings: Surroundings): readonly ProgramPlan[] => [
  ...(surroundings.lab === undefined ? [] : [labPlan(surroundings, surroundings.lab)]),
  ...revokerPlans(surroundings),
  ...(surroundings.tunnel === undefined ? [] : [tunnelPlan(surroundings, surroundings.tunnel)]),
  ...SERVICES.map((service) => servicePlan(service, surroundings)),
];

const entriesOf = (folder: string): Pick<ProgramPlan, 'main' | 'bundle'> => ({
  main: `${folder}/dist/main.js`,
  bundle: `${folder}/dist/bundle.mjs`,
});

/** The simulated identity provider, and nothing else of this machine: an administrator of a namespace chooses the URL of a realm. */
const identityAddress = (port: number): string => `127.0.0.1/32:${port}`;

/** Simulated hosts are many processes; on a small machine the services must not wait for them. */
const LAB_NICENESS = 5;

const labPlan = ({ checkout, dataDir }: Surroundings, lab: LabProgram): ProgramPlan => ({
  name: 'lab',
  ...entriesOf(`${checkout}/apps/lab`),
  args: [
    '--data',
    `${dataDir}/lab`,
    '--port',
    String(lab.port),
    ...(lab.identityPort === undefined ? [] : ['--identity-port', String(lab.identityPort)]),
    '--delays',
    lab.delays,
    ...(lab.light ? ['--light'] : []),
  ],
  env: { LAB_TOKEN: lab.token },
  niceness: LAB_NICENESS,
  runtime: {},
});

/** None at a server whose operator is another's: whoever has that key revokes there. */
const revokerPlans = ({ checkout, nats }: Surroundings): readonly ProgramPlan[] => {
  const [creds, systemCreds] = [nats.credsFile('revoker'), nats.credsFile('revoker-system')];
  const { url, caFile, accountSigningFile } = nats;
  if (creds === undefined || systemCreds === undefined || accountSigningFile === undefined) return [];
  return [
    {
      name: 'revoker',
      ...entriesOf(`${checkout}/apps/revoker`),
      args: [],
      niceness: 0,
      runtime: SERVICE_MEMORY,
      env: {
        NATS_URL: url,
        ...(caFile === undefined ? {} : { NATS_CA_FILE: caFile }),
        NATS_CREDS: creds,
        NATS_SYSTEM_CREDS: systemCreds,
        NATS_ACCOUNT_SIGNING_FILE: accountSigningFile,
        PORT: '0',
      },
    },
  ];
};

/** The simulated identity provider has no public address. */
const realmEnv = ({ lab }: Pick<Surroundings, 'lab'>): Readonly<Record<string, string>> =>
  lab?.identityPort === undefined ? {} : { REALM_ADDRESSES_ALLOWED: identityAddress(lab.identityPort) };

const tunnelPlan = ({ checkout, nats, lab }: Surroundings, tunnel: TunnelProgram): ProgramPlan => {
  const creds = nats.credsFile('tunnel');
  return {
    name: 'tunnel',
    ...entriesOf(`${checkout}/apps/tunnel`),
    args: [],
    niceness: 0,
    runtime: SERVICE_MEMORY,
    env: {
      NATS_URL: nats.url,
      ...(nats.caFile === undefined ? {} : { NATS_CA_FILE: nats.caFile }),
      ...(creds === undefined ? {} : { NATS_CREDS: creds }),
      TUNNEL_HOST_KEY_FILE: tunnel.keyFile,
      TUNNEL_AUTHORITY_FILE: tunnel.authorityFile,
      ...realmEnv({ lab }),
      TUNNEL_HOST: tunnel.address,
      TUNNEL_SSH_PORT: String(tunnel.sshPort),
      TUNNEL_TLS_PORT: String(tunnel.tlsPort),
      PORT: '0',
    },
  };
};

/** What is known of a service before anything runs. */
export const serviceProgram = (service: ServiceName, checkout: string): Program => ({
  name: service,
  ...entriesOf(`${checkout}/apps/${service}`),
  args: [],
  niceness: 0,
  runtime: SERVICE_MEMORY,
});

const servicePlan = (service: ServiceName, surroundings: Surroundings): ProgramPlan => {
  const { nats } = surroundings;
  const credsFile = nats.credsFile(service);
  return {
    ...serviceProgram(service, surroundings.checkout),
    env: {
      NATS_URL: nats.url,
      ...(nats.caFile === undefined ? {} : { NATS_CA_FILE: nats.caFile }),
      ...(credsFile === undefined ? {} : { NATS_CREDS: credsFile }),
      DATABASE_URL: surroundings.databases[service],
      PORT: service === 'gateway' ? String(surroundings.gatewayPort) : '0',
      FAIRLEAD_MASTER_KEY_FILE: surroundings.masterKeyFile,
      LOG_FORMAT: 'json',
      ...ownEnv(service, surroundings),
    },
  };
};

const ownEnv = (service: ServiceName, surroundings: Surroundings): Readonly<Record<string, string>> => {
  switch (service) {
    case 'gateway':
      return {
        FAIRLEAD_LOCAL_TOKEN_FILE: surroundings.localTokenFile,
        PAGE_DIR: `${surroundings.checkout}/apps/web/dist/page`,
        AGENT_BUNDLE: `${surroundings.checkout}/apps/node-agent/dist/agent.mjs`,
        AGENT_NATS_URLS: surroundings.nats.agentUrls,
        ...diskEnv(surroundings.nats),
        ...(surroundings.tunnel === undefined ? {} : { PUBLISH_DOMAIN: surroundings.tunnel.domain }),
        ...httpEnv(surroundings.http),
      };
    case 'bootstrap-svc':
      return {
        AGENT_BUNDLE: `${surroundings.checkout}/apps/node-agent/dist/agent.mjs`,
        AGENT_NATS_URLS: surroundings.nats.agentUrls,
        AGENT_NODE_BINARY: surroundings.nodeBinary,
        SOFTWARE_BUNDLES: `${surroundings.dataDir}/bundles`,
        ...(surroundings.helmProgram === undefined ? {} : { HELM_PROGRAM: surroundings.helmProgram }),
        ...(surroundings.nats.nodeSigningFile === undefined
          ? {}
          : { NATS_NODE_SIGNING_FILE: surroundings.nats.nodeSigningFile }),
      };
    case 'infra-svc':
      return {
        AGENT_NATS_URLS: surroundings.nats.agentUrls,
        GATEWAY_URL: gatewayUrl(surroundings),
        ...publishEnv(surroundings.tunnel),
        ...realmEnv(surroundings),
      };
    case 'upgrade-svc':
      return {};
  }
};

/** What infra-svc needs to publish, and what control planes are given. */
const publishEnv = (tunnel: TunnelProgram | undefined): Readonly<Record<string, string>> =>
  tunnel === undefined
    ? {}
    : {
        PUBLISH_DOMAIN: tunnel.domain,
        PUBLISH_PORT: String(tunnel.tlsPort),
        TUNNEL_ADDRESS: `${tunnel.address.includes(':') ? `[${tunnel.address}]` : tunnel.address}:${tunnel.sshPort}`,
        TUNNEL_PUBLIC_KEY_FILE: tunnel.publicKeyFile,
      };

/** As machines reach it that this instance makes: those of the lab are on this machine. */
const gatewayUrl = ({ http: { tls }, gatewayPort }: Surroundings): string =>
  `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${gatewayPort}`;

const httpEnv = ({ address, tls, plainText }: HttpSettings): Readonly<Record<string, string>> => ({
  HOST: address,
  ...(tls === undefined ? {} : { TLS_CERT_FILE: tls.certFile, TLS_KEY_FILE: tls.keyFile }),
  ...(plainText ? { HTTP_PLAIN_TEXT: 'allow' } : {}),
});

/** How the gateway watches the disk of the log; a server that was found says neither. */
const diskEnv = ({ monitorUrl, storeDir }: NatsSurroundings): Readonly<Record<string, string>> => ({
  ...(monitorUrl === undefined ? {} : { NATS_MONITOR_URL: monitorUrl }),
  ...(storeDir === undefined ? {} : { NATS_STORE_DIR: storeDir }),
});

/** What a program says when it serves: `FAIRLEAD READY <program> <port>`. */
export const isReadyLine = (program: ProgramName, line: string): boolean =>
  line.startsWith(`FAIRLEAD READY ${program} `);

/** What a program says that it waits for: `FAIRLEAD WAITING <program> for <what>: <why>`. */
export const waitsFor = (program: ProgramName, line: string): string | undefined => {
  const prefix = `FAIRLEAD WAITING ${program} for `;
  return line.startsWith(prefix) ? line.slice(prefix.length) : undefined;
};
