import type { OwnHost, PowerAction, PowerState, SecretRef } from '@fairlead/contracts';
import { setTimeout as pause } from 'node:timers/promises';
import { IpmiController } from './ipmi.controller.js';
import {
  loginOf,
  POWER_LIMITS,
  powerFailure,
  type ManagementController,
  type PowerLimits,
} from './management.controller.js';
import { RedfishController } from './redfish.controller.js';

export interface PowerWorld {
  readonly keys: (ref: SecretRef) => Promise<string | undefined>;
  readonly limits?: PowerLimits | undefined;
}

/** Switches the power of hosts through their management controllers. Every failure is a ExternalFailure. */
export class PowerSwitch {
  private readonly limits: PowerLimits;

  constructor(private readonly world: PowerWorld) {
    this.limits = world.limits ?? POWER_LIMITS;
  }

  /**
   * Resolves with the power of the host once it is as requested. A cycle that was interrupted may be repeated: it ends
   * with a host that is on.
   */
  async act(host: Pick<OwnHost, 'name' | 'power'>, action: PowerAction, signal: AbortSignal): Promise<PowerState> {
    const controller = await this.controllerOf(host);
    switch (action) {
      case 'status':
        return this.settled(controller, host.name, signal);
      case 'on':
      case 'off':
        return this.turned(controller, host.name, action, signal);
      case 'cycle':
        await this.turned(controller, host.name, 'off', signal);
        return this.turned(controller, host.name, 'on', signal);
    }
  }

  private async turned(
    controller: ManagementController,
    host: string,
    power: PowerState,
    signal: AbortSignal,
  ): Promise<PowerState> {
    await controller.turn(power, signal);
    return this.settled(controller, host, signal, power);
  }

  /** `power`: what it has to become. */
  private async settled(
    controller: ManagementController,
    host: string,
    signal: AbortSignal,
    power?: PowerState,
  ): Promise<PowerState> {
    const triesMax = Math.ceil(this.limits.changeMs / this.limits.pollMs);
    for (let tries = 0; tries < triesMax; tries += 1) {
      const seen = await controller.state(signal);
      if (seen !== undefined && (power === undefined || seen === power)) return seen;
      await pause(this.limits.pollMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
    const wanted = power === undefined ? 'neither on nor off' : `not ${power}`;
    throw powerFailure(host, `its power is still ${wanted} after ${this.limits.changeMs / 1_000} s`);
  }

  private async controllerOf({ name, power }: Pick<OwnHost, 'name' | 'power'>): Promise<ManagementController> {
    const { redfish, ipmi } = power ?? {};
    const { timeoutMs } = this.limits;
    if (redfish !== undefined) {
      const login = await this.loginOf(name, redfish.credentialRef);
      const ca = redfish.caRef === undefined ? undefined : await this.secret(name, redfish.caRef);
      return new RedfishController(name, redfish, { login, ca, timeoutMs });
    }
    if (ipmi !== undefined)
      return new IpmiController(name, ipmi, { login: await this.loginOf(name, ipmi.credentialRef), timeoutMs });
    throw powerFailure(name, 'the inventory does not say how its power is controlled', false);
  }

  private async loginOf(host: string, ref: SecretRef) {
    const login = loginOf(await this.secret(host, ref));
    if (login !== undefined) return login;
    throw powerFailure(host, `the secret ${ref} is not user:password`, false);
  }

  private async secret(host: string, ref: SecretRef): Promise<string> {
    const secret = await this.world.keys(ref);
    if (secret !== undefined) return secret;
    throw powerFailure(host, `there is no secret behind ${ref}`, false);
  }
}
