import type { Fault } from '../failures.js';

/** The option that sets each field of a request. One option may set a field in several sets. */
const OPTIONS: readonly (readonly [field: RegExp, option: string])[] = [
  [/^config\.kubernetes\.networkCni$/, '--cni'],
  [/^config\.kubernetes\.version$/, '--kubernetes-version'],
  [/^config\.kubernetes\.podCidr$/, '--pod-cidr'],
  [/^config\.kubernetes\.serviceCidr$/, '--service-cidr'],
  [/^config\.kubernetes\.etcd$/, '--etcd'],
  [/^serviceType$/, '--service-type'],
  [/^controlPlane(\[\d+\]\.count)?$/, '--control-planes'],
  [/^worker(\[\d+\]\.count)?$/, '--workers'],
  [/^controlPlane\[\d+\]\.spec$/, '--machine-type'],
  [/^worker\[\d+\]\.spec$/, '--worker-machine-type'],
  [/^(controlPlane|worker)\[\d+\]\.connection$/, '--connection'],
  [/^(description|onFailure|provider|region|zone|strategy|pools|reboot|software)$/, ''],
  [/^version$/, '--to'],
  [/^renewCertificates$/, '--certificates'],
  [/^at$/, '--at'],
  [/^from$/, '--from'],
  [/^to$/, '--to'],
  [/^strategy\.workers\.maxUnavailable$/, '--max-unavailable'],
  [/^strategy\.workers\.maxSurge$/, '--max-surge'],
  [/^strategy\.workers\.soakSeconds$/, '--soak'],
  [/^strategy\.workers\.drainTimeoutSeconds$/, '--drain-timeout'],
  [/^strategy\.workers\.onDrainTimeout$/, '--on-drain-timeout'],
  [/^strategy\.workers\.forceUntil$/, '--force-until'],
  [/^drainTimeoutSeconds$/, '--drain-timeout'],
  [/^maxUnavailable$/, '--max-unavailable'],
  [/^expiresInSeconds$/, '--expires'],
  [/^labelSelector$/, '--selector'],
];

const dashed = (field: string): string => `--${field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** The option of the command that sets a field, if there is one; a name is an argument. */
const optionOf = (field: string, known: readonly string[]): string | undefined => {
  const found = OPTIONS.find(([pattern, option]) => pattern.test(field) && known.includes(option || dashed(field)));
  return found && (found[1] || dashed(field));
};

/**
 * Names options instead of request fields in a fault, for a request that was built from options. `known`: the command's
 * options.
 */
export const inOptions = <T extends Pick<Fault, 'field'>>(
  fault: T,
  known: readonly string[],
): T & { readonly option?: string } => {
  const option = fault.field === undefined ? undefined : optionOf(fault.field, known);
  return option === undefined ? fault : { ...fault, option };
};
