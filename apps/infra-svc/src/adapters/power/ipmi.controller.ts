import type { IpmiPower, PowerState } from '@fairlead/contracts';
import { execFile } from 'node:child_process';
import { withoutSecrets } from '../secret.words.js';
import { powerFailure, type Login, type ManagementController } from './management.controller.js';

const OUTPUT_BYTES_MAX = 65_536;
const WORDS_MAX = 300;
const STATES: Readonly<Record<string, PowerState>> = { on: 'on', off: 'off' };

const wordsIn = (stderr: string): string => {
  const lines = stderr.split('\n').flatMap((line) => line.trim() || []);
  return lines.length === 0 ? 'ipmitool failed without a word' : lines.join('; ').slice(0, WORDS_MAX);
};

interface IpmiWorld {
  readonly login: Login;
  readonly timeoutMs: number;
  /** Absent: that of the PATH. */
  readonly program?: string | undefined;
}

/** A controller with IPMI 2.0 over the network, used by the program `ipmitool`. */
export class IpmiController implements ManagementController {
  constructor(
    private readonly host: string,
    private readonly power: IpmiPower,
    private readonly world: IpmiWorld,
  ) {}

  async state(signal: AbortSignal): Promise<PowerState | undefined> {
    const said = /^Chassis Power is (on|off)\b/im.exec(await this.run(['power', 'status'], signal));
    if (said === null) throw this.failure('it does not say whether the power is on');
    return STATES[said[1]!.toLowerCase()];
  }

  async turn(power: PowerState, signal: AbortSignal): Promise<void> {
    if ((await this.state(signal)) !== power) await this.run(['power', power], signal);
  }

  /** The password is in the environment of the program, where only this user and root can read it. */
  private run(command: readonly string[], signal: AbortSignal): Promise<string> {
    const { address, port, cipherSuite } = this.power;
    const { login, timeoutMs, program = 'ipmitool' } = this.world;
    const at = ['-I', 'lanplus', '-H', address, '-p', `${port}`, '-C', `${cipherSuite}`, '-U', login.user, '-E'];
    const patience = ['-N', '2', '-R', '2'];
    const options = {
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', HOME: '/', IPMI_PASSWORD: login.password },
      timeout: timeoutMs,
      maxBuffer: OUTPUT_BYTES_MAX,
      killSignal: 'SIGKILL' as const,
      signal,
    };
    return new Promise((resolve, reject) => {
      const child = execFile(program, [...at, ...patience, ...command], options, (error, stdout, stderr) => {
        if (error === null) return resolve(stdout);
        if (signal.aborted) return reject(signal.reason as Error);
        if (error.code === 'ENOENT')
          return reject(this.failure('the program ipmitool is not installed where infra-svc runs', false));
        if (error.killed === true) return reject(this.failure(`no answer within ${timeoutMs / 1_000} s`));
        reject(this.failure(wordsIn(stderr).replaceAll(address, '***')));
      });
      child.stdin?.end();
    });
  }

  private failure(words: string, retryable = true): Error {
    const message = `its management controller: ${withoutSecrets(words, [this.world.login.password])}`;
    return powerFailure(this.host, message, retryable);
  }
}
