import { ExternalFailure, PROVIDER_REFUSED, type PowerState } from '@fairlead/contracts';

/** The management controller of one host (BMC). Every failure is a ExternalFailure. */
export interface ManagementController {
  /** Asks for the power of the host; what is neither on nor off yet is on its way (undefined). */
  state(signal: AbortSignal): Promise<PowerState | undefined>;
  /** Switches at once, without a shutdown. A host that has this power already is left alone. */
  turn(power: PowerState, signal: AbortSignal): Promise<void>;
}

/** How long requests and changes of power may take. */
export interface PowerLimits {
  /** For one request to a controller. */
  readonly timeoutMs: number;
  /** From the request until the power has changed. */
  readonly changeMs: number;
  readonly pollMs: number;
}

export const POWER_LIMITS: PowerLimits = { timeoutMs: 15_000, changeMs: 40_000, pollMs: 1_000 };

export const CONTROL_POWER = 'control power';

/** Its words never contain the address of a controller: they are shown to users of clusters. */
export const powerFailure = (host: string, message: string, retryable = true): ExternalFailure =>
  new ExternalFailure({
    operation: CONTROL_POWER,
    target: host,
    message,
    retryable,
    reason: retryable ? undefined : PROVIDER_REFUSED,
  });

export interface Login {
  readonly user: string;
  readonly password: string;
}

/** `user:password`, with one line break at its end if it comes from a file; undefined: it is not that. */
export const loginOf = (secret: string): Login | undefined => {
  const text = secret.replace(/\r?\n$/, '');
  const at = text.indexOf(':');
  // oxlint-disable-next-line no-control-regex
  if (at < 1 || /[\r\n\0]/.test(text)) return undefined;
  return { user: text.slice(0, at), password: text.slice(at + 1) };
};
