import { getRouteApi, Outlet, useNavigate } from "@tanstack/react-router";

import { AccountPage } from "@/features/settings/account-page";
import { ApprovalPage } from "@/features/settings/approval-page";
import { ArchivingPage } from "@/features/settings/archiving-page";
import { KeysPage } from "@/features/settings/keys-page";
import { MembersPage } from "@/features/settings/members-page";
import { PeoplePage } from "@/features/settings/people-page";
import { RetentionPage } from "@/features/settings/retention-page";
import { ServerProjectsPage } from "@/features/settings/server-projects-page";
import { SettingsFrame } from "@/features/settings/settings-frame";
import { WebhooksPage } from "@/features/settings/webhooks-page";

const project = getRouteApi("/shell/settings/$project");

/** The settings of the project in the address, in their frame; another project is another form. */
export function ProjectSettingsRoute() {
  const { project: name } = project.useParams();
  const navigate = useNavigate();
  return (
    <SettingsFrame
      key={name}
      project={name}
      onProject={(next) =>
        void navigate({ to: "/settings/$project/members", params: { project: next } })
      }
    >
      <Outlet />
    </SettingsFrame>
  );
}

/** The settings that belong to no project, in the same frame. */
export function OtherSettingsRoute() {
  const navigate = useNavigate();
  return (
    <SettingsFrame
      project={undefined}
      onProject={(next) =>
        void navigate({ to: "/settings/$project/members", params: { project: next } })
      }
    >
      <Outlet />
    </SettingsFrame>
  );
}

const useProject = () => project.useParams().project;

export function MembersRoute() {
  return <MembersPage project={useProject()} />;
}

export function KeysRoute() {
  return <KeysPage project={useProject()} />;
}

export function WebhooksRoute() {
  return <WebhooksPage project={useProject()} />;
}

export function ApprovalRoute() {
  return <ApprovalPage project={useProject()} />;
}

export function RetentionRoute() {
  return <RetentionPage project={useProject()} />;
}

export function ArchivingRoute() {
  return <ArchivingPage project={useProject()} />;
}

export function AccountRoute() {
  return <AccountPage />;
}

export function PeopleRoute() {
  return <PeoplePage />;
}

export function ServerProjectsRoute() {
  return <ServerProjectsPage />;
}
