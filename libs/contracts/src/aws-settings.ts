import * as z from 'zod';
import { LetsCloudController } from './cloud.setting.js';
import { HostProfile } from './hosts.js';
import { TEXT_LENGTH_MAX } from './text.limits.js';

/** The account of the Debian project, whose images are for everyone. */
const DEBIAN = '136693071363';

const cidr = z.cidrv4({ error: 'is not a network, e.g. 10.0.0.0/24' });

/** A security group takes 60 rules, and each source needs eight. */
const SOURCES_MAX = 7;
/** The network that is made is divided into four. */
const ZONES_MAX = 4;

const Fields = z.strictObject({
  credentials: z
    .enum(['key', 'host'], { error: 'is neither key nor host' })
    .default('key')
    .describe(
      'key: an access key, of which the secret half is the secret of the connection; host: the role that the host of infra-svc has, found as by every program of AWS',
    ),
  accessKeyId: z
    .string()
    .regex(/^[A-Z0-9]{16,128}$/, { error: 'is not the ID of an access key: 16 to 128 capital letters and digits' })
    .optional()
    .describe('The ID of the access key'),
  image: z
    .string()
    .max(128)
    .regex(/^[A-Za-z0-9][A-Za-z0-9 ()[\]./\-'@_*?]*$/, { error: 'is neither the ID nor the name of an image' })
    .default('debian-12-amd64-*')
    .describe('The image of its machines, by ID or by name, with * and ?: a Debian or Ubuntu with cloud-init'),
  imageOwner: z
    .string()
    .regex(/^(\d{12}|self|amazon)$/, { error: 'is neither an account of twelve digits nor self or amazon' })
    .default(DEBIAN)
    .describe('Whose images are looked up by name; default: the Debian project'),
  user: z
    .string()
    .regex(/^[a-z_][a-z0-9_-]{0,31}$/, { error: 'is not a Linux user name' })
    .default('admin')
    .describe('The user that cloud-init gives the SSH key to; other than root, commands run through sudo -n'),
  instanceTypes: z
    .array(
      z.string().regex(/^[a-z0-9][a-z0-9-]{0,30}\.([a-z0-9-]{1,30}|\*)$/, {
        error: 'is neither an instance type nor a family, e.g. t3.medium or m7i.*',
      }),
    )
    .min(1)
    .max(20)
    .default(['t3.*', 'm6i.*', 'm7i.*', 'c7i.*', 'r7i.*'])
    .describe('The instance types that it offers, by name or by family'),
  subnets: z
    .array(z.string().regex(/^subnet-[0-9a-f]{8,17}$/, { error: 'is not the ID of a subnet' }))
    .min(1)
    .max(20)
    .optional()
    .describe('Existing subnets of one VPC; absent: the connection makes a VPC, with a subnet for each zone'),
  networkCidr: cidr
    .optional()
    .describe('The VPC that is made; default: a /24 that follows from the name of the connection'),
  zones: z
    .array(z.string().regex(/^[a-z]{2}[a-z0-9-]{3,30}[a-z]$/, { error: 'is not an availability zone' }))
    .min(1)
    .max(ZONES_MAX)
    .optional()
    .describe('Where subnets are made; default: the first three zones of the region'),
  publicAddresses: z
    .boolean()
    .default(true)
    .describe('Machines and the API have public addresses; false: only those of their subnets'),
  allowedSources: z
    .array(cidr)
    .max(SOURCES_MAX)
    .default([])
    .describe('Who reaches SSH, the API and node ports from outside of the VPC, Fairlead above all; default: none'),
  spot: z
    .enum(['none', 'workers'], { error: 'is neither none nor workers' })
    .default('none')
    .describe('Which machines are spot instances, which AWS may end at any time'),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'is not an http or https URL' })
    .max(TEXT_LENGTH_MAX)
    .optional()
    .describe('Another address of EC2 and Elastic Load Balancing, e.g. of a simulation'),
  cloudController: LetsCloudController,
  profile: HostProfile.optional().describe(
    'What differs between its machines and those that Fairlead takes for granted',
  ),
});

type Rule = readonly [field: string, message: string, isBroken: (settings: z.output<typeof Fields>) => boolean];

const RULES: readonly Rule[] = [
  ['accessKeyId', 'is missing', ({ credentials, accessKeyId }) => credentials === 'key' && accessKeyId === undefined],
  [
    'accessKeyId',
    'has no effect with credentials: host',
    ({ credentials, accessKeyId }) => credentials === 'host' && accessKeyId !== undefined,
  ],
  [
    'endpoint',
    'would get a token of the host; it needs credentials: key',
    ({ credentials, endpoint }) => credentials === 'host' && endpoint !== undefined,
  ],
  [
    'networkCidr',
    'has no effect with subnets',
    ({ subnets, networkCidr }) => subnets !== undefined && networkCidr !== undefined,
  ],
  ['zones', 'has no effect with subnets', ({ subnets, zones }) => subnets !== undefined && zones !== undefined],
  [
    'publicAddresses',
    'can be false only with subnets, because the VPC that is made has no other way out',
    ({ subnets, publicAddresses }) => subnets === undefined && !publicAddresses,
  ],
];

/** Settings of an `aws` connection. Its secret is the secret half of the access key. */
export const AwsSettings = Fields.superRefine((settings, context) => {
  for (const [field, message, isBroken] of RULES)
    if (isBroken(settings)) context.addIssue({ code: 'custom', path: [field], message });
});
export type AwsSettings = z.output<typeof AwsSettings>;
