import * as z from 'zod';
import { ApiNetworks } from './api-networks.js';
import { LetsCloudController } from './cloud.setting.js';
import { HostProfile } from './hosts.js';
import { TEXT_LENGTH_MAX } from './text.limits.js';

/** Name of an OpenStack resource: any single line of text. */
const resource = z
  .string()
  .min(1)
  .max(255)
  .regex(/^\P{Cc}*$/u, { error: 'is not a name or an ID' });

/** Settings of an `openstack` connection. Its secret is the application credential's. */
export const OpenstackSettings = z.strictObject({
  authUrl: z
    .url({ protocol: /^https?$/, error: 'is not an http or https URL' })
    .max(TEXT_LENGTH_MAX)
    .describe('The identity API (Keystone v3), e.g. https://cloud.example.org:5000/v3'),
  applicationCredential: z
    .string()
    .regex(/^[0-9a-f]{32}$/, { error: 'is not the ID of an application credential: 32 hexadecimal digits' })
    .describe('The ID of the application credential; the secret of the connection is its secret'),
  interface: z
    .enum(['public', 'internal'], { error: 'is neither public nor internal' })
    .default('public')
    .describe('Which endpoints of the catalogue are used'),
  image: resource.describe('The image of its machines, by name or ID: a Debian or Ubuntu with cloud-init'),
  user: z
    .string()
    .regex(/^[a-z_][a-z0-9_-]{0,31}$/, { error: 'is not a Linux user name' })
    .default('debian')
    .describe('The user that cloud-init gives the SSH key to; other than root, commands run through sudo -n'),
  network: resource
    .optional()
    .describe('An existing network of the project, by name or ID; absent: the connection makes one, with a router'),
  networkCidr: z
    .cidrv4({ error: 'is not a network, e.g. 10.0.0.0/24' })
    .optional()
    .describe('The network that is made; default: a /24 that follows from the name of the connection'),
  dnsServers: z.array(z.ipv4()).max(5).optional().describe('Name servers of the network that is made'),
  externalNetwork: resource
    .optional()
    .describe('Where floating IPs and the router have their addresses; absent: machines have private addresses only'),
  floatingIps: z
    .boolean()
    .default(true)
    .describe('Each machine has a floating IP, where there is an external network; false: they are reached privately'),
  apiNetworks: ApiNetworks,
  antiAffinity: z
    .enum(['soft', 'required', 'none'], { error: 'is none of soft, required and none' })
    .default('soft')
    .describe('Whether control planes of a cluster are on different hypervisors'),
  cloudController: LetsCloudController,
  profile: HostProfile.optional().describe(
    'What differs between its machines and those that Fairlead takes for granted',
  ),
});
export type OpenstackSettings = z.output<typeof OpenstackSettings>;
