import * as z from 'zod';
import { SecretRef } from './ids.js';
import { TEXT_LENGTH_MAX } from './text.limits.js';

/** `cycle`: off, then on. `status`: changes nothing. */
export const POWER_ACTIONS = ['on', 'off', 'cycle', 'status'] as const;
export const PowerAction = z.enum(POWER_ACTIONS);
export type PowerAction = z.infer<typeof PowerAction>;

/** What a management controller says of the power of its host. */
export const PowerState = z.enum(['on', 'off']);
export type PowerState = z.infer<typeof PowerState>;

/** How the power of a host is controlled. */
export const PowerProtocol = z.enum(['redfish', 'ipmi']);
export type PowerProtocol = z.infer<typeof PowerProtocol>;

const credentialRef = SecretRef.check(z.maxLength(253)).describe(
  'The user and the password, as user:password: gateway.connection.<connection>.<name>, given as settings.keys.<name>',
);

const Redfish = z.strictObject({
  url: z
    .url({ protocol: /^https$/, error: 'is not an https URL' })
    .max(TEXT_LENGTH_MAX)
    .regex(/^https:\/\/[^/?#]+\/?$/, { error: 'has a path; give the address of the controller alone' })
    .describe('The management controller, e.g. https://198.51.100.111'),
  system: z
    .string()
    .regex(/^[A-Za-z0-9][-A-Za-z0-9._:]{0,126}$/, { error: 'is not the ID of a system' })
    .optional()
    .describe('The ID of its system below /redfish/v1/Systems; absent: the controller has one'),
  credentialRef,
  fingerprint: z
    .string()
    .regex(/^([0-9A-Fa-f]{2}:){31}[0-9A-Fa-f]{2}$/, {
      error: 'is not the SHA-256 of a certificate; openssl x509 -noout -fingerprint -sha256 prints it',
    })
    .optional()
    .describe('The certificate of the controller, whoever signed it'),
  caRef: SecretRef.check(z.maxLength(253))
    .optional()
    .describe('The CA of the controller in PEM, given as a key of the connection, too; absent: those of Node.js'),
});

const Ipmi = z.strictObject({
  address: z
    .union([z.ipv4(), z.ipv6(), z.hostname().max(253)], { error: 'is neither an IP address nor a host name' })
    .describe('The management controller (IPMI 2.0)'),
  port: z.int().min(1).max(65_535).default(623),
  credentialRef,
  cipherSuite: z.int().min(0).max(17).default(17).describe('17 is SHA-256 with AES; older controllers have only 3'),
});

/** How the power of one host of an inventory is controlled. */
export const HostPower = z
  .strictObject({ redfish: Redfish.optional(), ipmi: Ipmi.optional() })
  .refine(({ redfish, ipmi }) => (redfish === undefined) !== (ipmi === undefined), {
    error: 'must have either redfish or ipmi',
  })
  .refine(({ redfish }) => redfish?.fingerprint === undefined || redfish.caRef === undefined, {
    error: 'must have either a fingerprint or a caRef, not both',
    path: ['redfish', 'fingerprint'],
  });
export type HostPower = z.output<typeof HostPower>;
export type RedfishPower = z.output<typeof Redfish>;
export type IpmiPower = z.output<typeof Ipmi>;

export const protocolOf = ({ redfish }: HostPower): PowerProtocol => (redfish === undefined ? 'ipmi' : 'redfish');

/** Where the secrets of a host's power are sent to, or say whom to trust. */
export interface PowerSecret {
  /** Below the host in the settings. */
  readonly field: string;
  readonly address: string;
  readonly ref: SecretRef;
}

export const powerSecretsOf = ({ redfish, ipmi }: HostPower): readonly PowerSecret[] => {
  if (ipmi !== undefined) {
    const address = `${ipmi.address}:${ipmi.port}`;
    return [{ field: 'power.ipmi.credentialRef', address, ref: ipmi.credentialRef }];
  }
  if (redfish === undefined) return [];
  const { url: address, credentialRef: ref, caRef } = redfish;
  return [
    { field: 'power.redfish.credentialRef', address, ref },
    ...(caRef === undefined ? [] : [{ field: 'power.redfish.caRef', address, ref: caRef }]),
  ];
};
