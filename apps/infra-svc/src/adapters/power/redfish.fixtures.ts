import { newFolder, removeFolder } from '@fairlead/testing';
import { check } from '@fairlead/testing/programs';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface Certificate {
  readonly folder: string;
  readonly key: string;
  readonly cert: string;
  readonly fingerprint: string;
}

/** A certificate that signs itself, for 127.0.0.1. */
export const selfSigned = (): Certificate => {
  const folder = newFolder('bmc');
  const at = (name: string): string => join(folder, name);
  const subject = ['-subj', '/CN=bmc', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', ...subject];
  check('openssl', [...made, '-keyout', at('key.pem'), '-out', at('cert.pem')]);
  const cert = readFileSync(at('cert.pem'), 'utf8');
  const { fingerprint256: fingerprint } = new X509Certificate(cert);
  return { folder, key: readFileSync(at('key.pem'), 'utf8'), cert, fingerprint };
};

/** What it answers instead, by path: a hostile or broken controller. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A management controller with one system, by the published schema of Redfish. It holds the suite of sushy-tools' emulator. */
export class RedfishStandIn {
  readonly certificate = selfSigned();
  readonly login = 'admin:open-sesame';
  readonly systemId = '437XR1138R2';
  readonly answers = new Map<string, Answer>();
  /** `<method> <path> <body>` */
  readonly asked: string[] = [];
  power: 'On' | 'Off' | 'PoweringOn' = 'On';
  allowed: readonly string[] | undefined = ['On', 'ForceOff', 'GracefulShutdown', 'ForceRestart'];
  /** Called after its power has changed. */
  onChange: (power: 'On' | 'Off') => void = () => undefined;
  private server: Server | undefined;

  async start(): Promise<this> {
    const { key, cert } = this.certificate;
    this.server = createServer({ key, cert }, (request, response) => void this.answer(request, response));
    await new Promise<void>((resolve) => this.server!.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.server!.address() as AddressInfo).port}`;
  }

  get path(): string {
    return `/redfish/v1/Systems/${this.systemId}`;
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
    removeFolder(this.certificate.folder);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const path = request.url ?? '';
    this.asked.push(`${request.method} ${path} ${body}`.trim());
    const instead = this.answers.get(path);
    if (instead !== undefined) return instead(request, response);
    const send = (status: number, value?: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(value && JSON.stringify(value));
    };
    if (request.headers.authorization !== `Basic ${Buffer.from(this.login).toString('base64')}`)
      return send(401, { error: { code: 'Base.1.0.GeneralError', message: 'not signed in' } });
    if (path === '/redfish/v1/Systems') return send(200, { Members: [{ '@odata.id': this.path }] });
    if (path === this.path) return send(200, this.system());
    if (path === `${this.path}/Actions/ComputerSystem.Reset` && request.method === 'POST')
      return send(this.reset((JSON.parse(body) as { ResetType: string }).ResetType));
    send(404, { error: { code: 'Base.1.0.GeneralError', message: 'not found' } });
  }

  private system(): object {
    const reset = {
      target: `${this.path}/Actions/ComputerSystem.Reset`,
      ...(this.allowed === undefined ? {} : { 'ResetType@Redfish.AllowableValues': this.allowed }),
    };
    return { Id: this.systemId, PowerState: this.power, Actions: { '#ComputerSystem.Reset': reset } };
  }

  private reset(type: string): number {
    if (type !== 'On' && type !== 'ForceOff') return 400;
    const power = type === 'On' ? 'On' : 'Off';
    const isChanged = this.power !== power;
    this.power = power;
    if (isChanged) this.onChange(power);
    return 204;
  }
}
