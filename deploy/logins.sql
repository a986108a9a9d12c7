-- Makes the logins of docker-compose.yml, each with the one role it needs. Run it with psql -v password=… -f deploy/logins.sql,
-- as often as you like.
select format('create role %I login', name)
from (values ('worker'), ('reader'), ('grafana')) as login (name)
where not exists (select from pg_roles where rolname = name)
\gexec
alter role worker password :'password';
alter role reader password :'password';
alter role grafana password :'password';
grant quakes_writer to worker;
grant quakes_reader to reader;
grant quakes_report to grafana;
alter role grafana set statement_timeout = '1min';
alter role grafana set idle_in_transaction_session_timeout = '1min';
