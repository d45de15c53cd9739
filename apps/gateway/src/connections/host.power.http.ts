import { HostPowerPath, HostPowerRequest, StatusView } from '@fairlead/contracts';
import { Body, Controller, HttpCode, Inject, Param, Post, Res } from '@nestjs/common';
import { RoleEverywhere } from '../access/access.js';
import { accept } from '../http/answers.js';
import { FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand } from '../http/operator.command.js';
import { ConnectionCommands } from './connections.commands.js';

/** The power of hosts of an inventory. */
@Controller(bothBases('connections/:connection/hosts/:host/power'))
export class HostPowerHttp {
  constructor(@Inject(ConnectionCommands) private readonly commands: ConnectionCommands) {}

  @Post()
  @HttpCode(202)
  @RoleEverywhere('admin')
  @KeyedCommand()
  @Documented({
    id: 'controlHostPower',
    tag: 'connections',
    records: 'work',
    summary: 'Switch the power of a host of an inventory, or ask for it',
    description:
      'infra-svc asks the management controller of the host (Redfish or IPMI); the answer is under hosts of GET /connections/{connection}, with the sequence of this request. off and cycle take effect at once, without a shutdown, also on a host that a cluster has. Of two requests for a host, the later one counts.',
    answers: [{ status: 202, description: 'Its management controller will be asked', schema: StatusView }],
    refusals: ['connection.not-found', 'connection.host-unknown', 'connection.host-power-none', ...CHANGE_REFUSALS],
  })
  async control(
    @Param({ schema: HostPowerPath }) { connection, host }: HostPowerPath,
    @Body({ schema: HostPowerRequest }) { action }: HostPowerRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    const { seq } = await this.commands.requestPower(connection, { host, action }, caller);
    accept(response, { seq, location: `/connections/${connection}`, status: 202, waited: false });
    return { kind: 'Status', code: 202, message: `Power ${action} of host '${host}' was requested.` };
  }
}
