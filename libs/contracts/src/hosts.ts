import * as z from 'zod';
import { MirrorTrust, SignedBy } from './software.trust.js';
import { TEXT_LENGTH_MAX } from './text.limits.js';

const text = z.string().max(TEXT_LENGTH_MAX);
/** Addresses of a host beyond these are not reported. */
export const HOST_ADDRESSES_MAX = 16;
/** kubeadm has about fifty checks. */
const PREFLIGHT_ERRORS_MAX = 100;

/**
 * Where a host gets Kubernetes' own files. `files` is the layout of the official release site, at a URL or in a folder
 * of the host; `bundle` is such a folder in one archive, which bootstrap-svc uploads to the host.
 */
export const SoftwareSource = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('packages') }).describe("The distribution's package manager, already configured"),
  z.strictObject({
    kind: z.literal('files'),
    location: text.describe('https://..., http://... or an absolute folder on the host'),
    ...MirrorTrust.shape,
  }),
  z.strictObject({
    kind: z.literal('bundle'),
    path: text.describe(
      'The file name of an archive made by "fairlead bundle create", in the folder of bundles of bootstrap-svc',
    ),
    sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 digest: 64 hexadecimal digits'),
    signedBy: SignedBy.optional().describe('Public keys; one of them must have signed the archive (<file>.sig)'),
  }),
]);
export type SoftwareSource = z.infer<typeof SoftwareSource>;

const proxyUrl = z
  .string()
  .max(TEXT_LENGTH_MAX)
  .regex(/^http:\/\/([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?\/?$/, {
    error:
      'is not http://<host>:<port>. A proxy with a user and a password is not supported, because settings are visible in events: let it admit the hosts by their addresses',
  });
/** Maximum number of exceptions from a provider; an agent adds those of its cluster. */
export const NO_PROXY_MAX = 100;

/** How hosts reach destinations outside their network. */
export const HostProxy = z
  .strictObject({
    http: proxyUrl.optional().describe('For http:// addresses'),
    https: proxyUrl.optional().describe('For https:// addresses'),
    no: z
      .array(z.string().regex(/^[A-Za-z0-9.:/-]{1,253}$/, { error: 'is no host, domain or network' }))
      .max(NO_PROXY_MAX * 2)
      .optional()
      .describe(
        'Hosts, domains (.example.org) and networks that are reached directly, besides those of the cluster and its hosts',
      ),
  })
  .describe('The HTTP proxy of the hosts: for the agent, the package manager and the container runtime');
export type HostProxy = z.infer<typeof HostProxy>;

/** Differences between kinds of hosts, set by the connection's provider. Absent: the default. */
export const HostProfile = z.strictObject({
  source: SoftwareSource.optional(),
  nodeBinary: text.optional().describe('The Node runtime on the host; absent: bootstrap-svc ships its own'),
  cgroupDriver: z.enum(['systemd', 'cgroupfs']).optional(),
  failSwapOn: z.boolean().optional(),
  kubeProxyMode: z.enum(['iptables', 'ipvs', 'nftables']).optional(),
  tuneConntrack: z.boolean().optional().describe('false leaves connection tracking limits alone (shared kernel)'),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional(),
  imageRepository: text.optional(),
  proxy: HostProxy.optional(),
  resolvConf: text.optional(),
  ignorePreflightErrors: z.array(text).max(PREFLIGHT_ERRORS_MAX).optional(),
  rebootWhenRequired: z
    .boolean()
    .optional()
    .describe(
      'true: a new host that asks for a reboot after its installation (/run/reboot-required) is rebooted once before it becomes a node',
    ),
  failCgroupV1: z.boolean().optional().describe('false lets a kubelet of 1.35 or newer run on cgroup v1'),
});
export type HostProfile = z.infer<typeof HostProfile>;

export const runsOnCgroupV1 = (profile: HostProfile | undefined): boolean => profile?.failCgroupV1 === false;
