-- Creates the logins of docker-compose.yml, each with its own password and the roles that it needs. The passwords come from the
-- environment, so that no list of processes shows them. The script can be run any number of times:
--
--     WORKER_PASSWORD=… READER_PASSWORD=… NOTIFIER_PASSWORD=… PRUNE_PASSWORD=… REPORT_PASSWORD=… \
--         psql -v ON_ERROR_STOP=1 -f deploy/logins.sql
\getenv worker_password WORKER_PASSWORD
\getenv reader_password READER_PASSWORD
\getenv notifier_password NOTIFIER_PASSWORD
\getenv prune_password PRUNE_PASSWORD
\getenv report_password REPORT_PASSWORD
select format('create role %I login', name)
from (values ('worker'), ('reader'), ('notifier'), ('prune'), ('grafana')) as login (name)
where not exists (select from pg_roles where rolname = name)
\gexec
alter role worker password :'worker_password';
alter role reader password :'reader_password';
alter role notifier password :'notifier_password';
alter role prune password :'prune_password';
alter role grafana password :'report_password';
-- A daemon that finds the events of several agencies that are one earthquake also reads overwritten values.
grant quakes_writer, quakes_reader to worker;
grant quakes_reader to reader;
-- The notifier is also a reader, so that it may read the status.
grant quakes_notifier, quakes_reader to notifier;
grant quakes_owner to prune;
grant quakes_report to grafana;
alter role grafana set statement_timeout = '1min';
alter role grafana set idle_in_transaction_session_timeout = '1min';
alter role grafana set timezone = 'UTC';
