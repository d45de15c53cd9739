import * as z from 'zod';
import { Namespace, PoolName, SecretRef } from './ids.js';

/**
 * Owner of the key that seals add-on secrets. A separate owner, so that bootstrap-svc cannot open secrets sealed with
 * the installation's key.
 */
export const ADDON_SECRETS_OWNER = 'addons';
/** Per namespace. */
export const ADDON_SECRETS_MAX = 50;
/** Length of the values as JSON. A sealed value must fit into one NATS message. */
export const ADDON_SECRET_LENGTH_MAX = 65_536;

export const addonSecretRef = (namespace: string, name: string): SecretRef =>
  SecretRef.parse(`gateway.addon.${namespace}.${name}`);

const Values = z.record(z.string(), z.json());
export type AddonSecretValues = z.infer<typeof Values>;

/** The sealed form. */
const SealedAddonSecret = z.strictObject({ setBy: z.string(), values: Values });
export type SealedAddonSecret = z.infer<typeof SealedAddonSecret>;

export const addonSecretText = (secret: SealedAddonSecret): string => JSON.stringify(secret);
export const addonSecretOf = (text: string): SealedAddonSecret => SealedAddonSecret.parse(JSON.parse(text));

export const AddonSecretPath = z.object({ namespace: Namespace, addonSecret: PoolName });
export type AddonSecretPath = z.infer<typeof AddonSecretPath>;

export const AddonSecretRequest = z
  .strictObject({
    values: Values.refine((values) => JSON.stringify(values).length <= ADDON_SECRET_LENGTH_MAX, {
      message: `must have at most ${ADDON_SECRET_LENGTH_MAX} characters as JSON`,
    }).describe('Values of charts, as in spec.addons[].values; they are sealed'),
  })
  .meta({ id: 'AddonSecretRequest' });
export type AddonSecretRequest = z.infer<typeof AddonSecretRequest>;

export const AddonSecretView = z
  .strictObject({
    kind: z.literal('AddonSecret'),
    name: z.string(),
    setTime: z.iso.datetime().describe('When its values were set last'),
  })
  .meta({ id: 'AddonSecret', description: 'Sealed values of add-ons; they are not shown' });
export type AddonSecretView = z.infer<typeof AddonSecretView>;

export const AddonSecretValuesView = z
  .strictObject({ kind: z.literal('AddonSecretValues'), name: z.string(), values: Values })
  .meta({ id: 'AddonSecretValues', description: 'Sealed values of add-ons' });
export type AddonSecretValuesView = z.infer<typeof AddonSecretValuesView>;

export const AddonSecretList = z
  .strictObject({ kind: z.literal('AddonSecretList'), items: z.array(AddonSecretView) })
  .meta({ id: 'AddonSecretList' });
export type AddonSecretList = z.infer<typeof AddonSecretList>;
